"""Bring a command line into the form in which two ways to write one command are the same."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass

from coldpress.engine import watch_data as data
from coldpress.engine.shellkinds_data import HARMLESS_TARGETS
from coldpress.engine.shellwords import Pipeline, Redirect, Stage, split


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command line without what only moves about or shortens; `shortened` says that something did."""

    text: str
    folder: str
    stages: tuple[tuple[str, ...], ...]
    shortened: bool = False


def line_of(command: str) -> CommandLine:
    """Take off what only moves about (`cd X &&`), shortens (`| head`) or speaks (`; echo done`)."""
    pipelines = None if data.UNREADABLE.search(command) else split(command)
    if pipelines is None:
        return _text_line(command)
    folder, kept, shortened = "", list[Pipeline](), False
    for pipeline in pipelines:
        words = pipeline[0].words
        if len(pipeline) == 1 and words[:1] in (("cd",), ("pushd",)) and len(words) == 2:
            folder = posixpath.normpath(posixpath.join(folder, words[1]))
        elif not _says_nothing(pipeline):
            kept.append(_unshortened(pipeline))
            shortened = shortened or len(kept[-1]) < len(pipeline)
    stages = tuple(stage.words for pipeline in kept for stage in pipeline)
    text = " ; ".join(" | ".join(_rendered(stage) for stage in pipeline) for pipeline in kept)
    return CommandLine(text or " ".join(command.split()), folder, stages, shortened)


def _text_line(command: str) -> CommandLine:
    """Do the same by patterns, for a command line whose words do not say all of it: here-documents, substitutions."""
    text = command.strip()
    folder = ""
    while (match := data.LEADING_CD.match(text)) is not None:
        folder = posixpath.normpath(posixpath.join(folder, match[1].strip("'\"")))
        text = text[match.end() :]
    while (match := data.TRAILING.search(text)) is not None:
        text = text[: match.start()]
    text = " ".join(text.split())
    return CommandLine(text, folder, tuple((word,) for word in text.split(" ", 1)[:1]))


def _says_nothing(pipeline: Pipeline) -> bool:
    if len(pipeline) != 1 or _written(pipeline[0].redirects):
        return False
    return not pipeline[0].words or pipeline[0].words[0] in data.SILENT


def _unshortened(pipeline: Pipeline) -> Pipeline:
    end = len(pipeline)
    while end > 1 and _shortens(pipeline[end - 1]):
        end -= 1
    return pipeline[:end]


def _shortens(stage: Stage) -> bool:
    """Whether a stage passes on the first or last lines of what it is fed, or all of it."""
    return stage.words[:1] in (("head",), ("tail",), ("cat",)) and not _written(stage.redirects)


def _written(redirects: Sequence[Redirect]) -> list[str]:
    return [
        redirect.operator + redirect.target
        for redirect in redirects
        if redirect.target.lower() not in HARMLESS_TARGETS
        and not (redirect.operator == ">&" and redirect.target.isdigit())
    ]


def _rendered(stage: Stage) -> str:
    return " ".join((*stage.words, *_written(stage.redirects)))
