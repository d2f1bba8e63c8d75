"""Pages lose the highlighter's spans that colour nothing, and keep their text."""

import re

from export.page_size import slim

LISTING = (
    '<div class="highlight"><pre><span></span><code><span class="k">def</span><span class="w"> </span>'
    '<span class="nf">f</span><span class="p">(</span><span class="n">x</span><span class="p">):</span>'
    "</code></pre></div>"
)


def test_coloured_words_keep_their_spans_and_the_text_is_the_same() -> None:
    page = slim(LISTING)
    assert '<span class="k">def</span> <span class="nf">f</span>(x):' in page
    assert re.sub("<[^>]+>", "", page) == re.sub("<[^>]+>", "", LISTING) == "def f(x):"


def test_a_listing_stays_out_of_the_search() -> None:
    assert slim(LISTING).startswith('<div class="highlight" data-search-exclude>')
