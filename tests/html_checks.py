"""What every page must be: well formed, whole, without anything outside of itself, and told to those who do not see it."""

import re
from html.parser import HTMLParser
from itertools import pairwise

VOID = {"meta", "img", "br", "hr"}
ADDRESSES = {"src", "href", "action", "data", "poster", "srcset", "background", "xlink:href", "formaction"}


class Page(HTMLParser):
    """``elements``: (tag, attributes, depth) in their order; ``texts``: (tag that holds it, text)."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.stack, self.elements, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.stack == [], self.stack

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), (tag, names)
        self.elements.append((tag, dict(attributes), tuple(self.stack)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attributes):
        raise AssertionError(f"<{tag}/>")

    def handle_endtag(self, tag):
        assert self.stack, tag
        assert self.stack.pop() == tag, (tag, self.stack)

    def handle_data(self, data):
        self.texts.append((self.stack[-1] if self.stack else "", data))

    def of(self, tag):
        return [attributes for name, attributes, _ in self.elements if name == tag]

    def words(self):
        """What is read, without the style sheet, in one line."""
        return " ".join(" ".join(text for tag, text in self.texts if tag != "style").split())


def check_page(text):
    """The parsed page. AssertionError for what it may not be."""
    assert text.startswith("<!DOCTYPE html>\n<html lang=")
    page = Page(text)
    assert page.of("script") == page.of("link") == page.of("iframe") == page.of("base") == []
    for tag, attributes, _ in page.elements:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        for name in ADDRESSES & attributes.keys():
            assert attributes[name].startswith(("#", "data:image/png;base64,")), (tag, name, attributes[name])
        assert "url(" not in attributes.get("style", "")
    (sheet,) = [text for tag, text in page.texts if tag == "style"]
    assert not re.search(r"url\(|@import|https?:|//", sheet)
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?https?:", text)
    ids = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids)), [name for name in ids if ids.count(name) > 1]
    for _, attributes, _ in page.elements:
        for name in ("aria-labelledby",):
            assert set(attributes.get(name, "").split()) <= set(ids)
        if attributes.get("href", "").startswith("#"):
            assert attributes["href"][1:] in ids
    levels = [int(tag[1]) for tag, _, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in pairwise(levels)), levels
    assert len(page.of("title")) >= 1
    assert all(attributes.get("scope") in ("row", "col") for attributes in page.of("th"))
    assert len(page.of("caption")) == len(page.of("table"))
    assert all(attributes.get("role") == "img" for attributes in page.of("svg"))
    assert len(page.of("desc")) == len(page.of("svg"))
    assert all(attributes.get("alt") for attributes in page.of("img"))
    assert not re.search(r"=\"(nan|inf)|[ ,(](nan|inf)[ ,)\"]", text), "a drawing with numbers that are none"
    return page
