"""A Markdown extension: the course's own elements may hold Markdown, by the attribute `markdown`.

The extension `md_in_html` asks the parser which elements are blocks; it knows those of
HTML alone, so the names of the live parts are added to its list.
"""

from markdown import Markdown
from markdown.extensions import Extension

ELEMENTS = ("course-question", "course-exercise", "course-progress", "chapter-progress", "course-gate")


class CourseElements(Extension):  # type: ignore[misc]
    def extendMarkdown(self, md: Markdown) -> None:
        md.block_level_elements.extend(ELEMENTS)


def makeExtension(**options: object) -> CourseElements:
    """What Python-Markdown calls to load the extension."""
    return CourseElements(**options)
