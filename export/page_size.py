"""Smaller pages: what the highlighter writes and no reader needs."""

import re

# The theme gives names and spaces the colour of plain text, punctuation a paler one.
PLAIN_SPAN = re.compile(r'<span class="(?:n|p|w)">([^<]*)</span>')
EMPTY_SPAN = "<span></span>"
LISTING = '<div class="highlight">'


def slim(html: str) -> str:
    """The page without spans that colour nothing, and its listings left out of the search.

    The search's index is loaded with every page. Prose names what a listing defines, so
    a search still leads there.
    """
    html = PLAIN_SPAN.sub(r"\1", html).replace(EMPTY_SPAN, "")
    return html.replace(LISTING, LISTING.replace(">", " data-search-exclude>"))
