"""Read a report as a program would: headings, tables, images and everything that points somewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

POINTS = ("src", "srcset", "href", "action", "data", "poster", "background", "formaction", "xlink:href")


@dataclass
class Read:
    """What a page holds."""

    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)
    captions: list[str] = field(default_factory=list)
    text: str = ""

    def table(self, beginning: str) -> list[list[str]]:
        """The table whose caption begins so."""
        return self.tables[next(at for at, caption in enumerate(self.captions) if caption.startswith(beginning))]

    def all(self, tag: str) -> list[dict[str, str]]:
        """The attributes of all such elements."""
        return [held for name, held in self.tags if name == tag]

    @property
    def points_to(self) -> list[tuple[str, str]]:
        """Every place that an element names, with the element."""
        return [(tag, held[name]) for tag, held in self.tags for name in POINTS if name in held]


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.read = Read()
        self._in: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.read.tags.append((tag, {name: value or "" for name, value in attrs}))
        self._in.append(tag)
        if tag == "table":
            self.read.tables.append([])
        elif tag == "tr":
            self.read.tables[-1].append([])
        elif tag in ("td", "th"):
            self.read.tables[-1][-1].append("")
        elif tag == "caption":
            self.read.captions.append("")
        elif tag in ("h1", "h2", "h3"):
            self.read.headings.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._in and self._in.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" in self._in:
            return
        self.read.text += data
        if "caption" in self._in:
            self.read.captions[-1] += data
        elif "td" in self._in or "th" in self._in:
            self.read.tables[-1][-1][-1] += data


def read(html: str) -> Read:
    """Read a page."""
    parser = _Parser()
    parser.feed(html)
    return parser.read


def number(cell: str) -> float:
    """The first number of a cell."""
    return float(cell.replace("\N{MINUS SIGN}", "-").replace(",", "").split("\N{NO-BREAK SPACE}")[0].split(" ")[0])
