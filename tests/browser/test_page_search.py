"""The search finds pages, and its index is loaded when a reader turns to it, not before."""

from playwright.sync_api import Page, Request, expect

from built_site import HOME, OpenPage, Site

INDEX = "search/search_index.json"


def note_requests(page: Page) -> list[str]:
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    page.on("request", note)
    return asked


def expect_result(page: Page, title: str) -> None:
    expect(page.locator(".md-search-result__link").filter(has_text=title).first).to_be_visible()


def test_the_index_is_loaded_at_the_first_search(open_page: OpenPage) -> None:
    page = open_page("about/")
    asked = note_requests(page)
    page.reload(wait_until="networkidle")
    assert asked and not [url for url in asked if url.endswith(INDEX)]
    page.get_by_role("textbox", name="Search").focus()
    page.keyboard.type("causal mask")
    expect_result(page, "Build the network")
    assert len([url for url in asked if url.endswith(INDEX)]) == 1


def test_the_search_works_by_its_key_and_after_instant_navigation(open_page: OpenPage) -> None:
    page = open_page(HOME)
    page.keyboard.press("/")
    page.keyboard.type("softmax")
    expect_result(page, "Glossary")
    page.locator(".md-search-result__link").filter(has_text="Glossary").first.click()
    expect(page.get_by_role("heading", name="Glossary", level=1)).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("textbox", name="Search")).to_be_focused()


def test_a_link_with_a_query_searches_at_once(open_page: OpenPage, site: Site) -> None:
    page = open_page("about/")
    page.goto(f"{site.url}?q=softmax")
    expect_result(page, "Glossary")


def test_on_a_phone(open_page: OpenPage) -> None:
    page = open_page("about/", viewport={"width": 360, "height": 800}, has_touch=True)
    page.locator("label[for=__search]").first.click()
    page.keyboard.type("softmax")
    expect_result(page, "Glossary")
