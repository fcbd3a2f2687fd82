"""From the two Debian packages to clean chapters of plain text."""

from __future__ import annotations

import base64
import html
import re
import warnings
import zlib
from functools import lru_cache
from pathlib import Path

import tiktoken

EOT = 50256  # <|endoftext|>
# GPT-2's own rule for cutting text before the merges.
GPT2_PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
HEADING = re.compile(
    r"\s*((chapter|volume) [ivxlc\d]+\.?|finis|the end|by|(by )?jane austen.*|\(\d{4}\)"
    r"|advertisement by .*|a note on the text|\[.*\]?|[*\s]+|emma|mansfield park"
    r"|northanger abbey|persuasion|pride and prejudice|sense and sensibility)\s*",
    re.IGNORECASE,
)


def encoding(ranks_file: Path) -> tiktoken.Encoding:
    """GPT-2's tokenizer from the published ranks, without any network access."""
    pairs = (line.split() for line in ranks_file.read_bytes().splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in pairs}
    return tiktoken.Encoding(
        "gpt2", pat_str=GPT2_PATTERN, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": EOT}
    )


def tidy(text: str) -> str:
    """Straight quotes as people type them, no emphasis marks, single spaces."""
    for old, new in (
        ("“", '"'),
        ("”", '"'),
        ("‘", "'"),
        ("’", "'"),
        ("—", "--"),
        ("–", "-"),
        ("…", "..."),
        ("\xa0", " "),
    ):
        text = text.replace(old, new)
    text = re.sub(r"[_*]", "", text)
    text = re.sub(r"\s+([,.;:!?])(?=[\s\"']|$)", r"\1", text)
    return re.sub(r"\s+", " ", text).strip()


def austen(root: Path) -> list[tuple[str, str]]:
    """(name, text) of every chapter of the six novels, one line per paragraph."""
    import rdata

    data = root / "usr/lib/R/site-library/janeaustenr/data"
    raw = (data / "Rdata.rdb").read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        index = rdata.read_rds(data / "Rdata.rdx")["variables"]
        # An entry of an R database: four bytes of length, then a zlib stream of an object.
        novels = {
            str(name): rdata.conversion.convert(
                rdata.parser.parse_data(zlib.decompress(raw[at + 4 : at + size]))
            )
            for name, (at, size) in sorted(index.items())
        }
    chapters = []
    for name, lines in novels.items():
        documents: list[list[str]] = [[]]
        block: list[str] = []
        for line in [*map(str, lines), ""]:
            if re.fullmatch(r"(?i)a note on the text.*|\s*(finis|the end)\s*", line):
                break  # an editor's note follows one of the novels
            if HEADING.fullmatch(line) or not line.strip():
                if block:
                    documents[-1].append(tidy(" ".join(block)))
                    block = []
                if re.match(r"(?i)chapter ", line):
                    documents.append([])
            else:
                block.append(line)
        documents = [d for d in documents if sum(map(len, d)) > 200]
        chapters += [(f"{name} {i + 1}", "\n".join(d)) for i, d in enumerate(documents)]
    return chapters


def bible(root: Path) -> list[tuple[str, str]]:
    """(name, text) of every chapter of the World English Bible, one line per paragraph."""
    from pysword.bible import ZTextModule
    from pysword.modules import SwordModules

    # It would decompress a whole book again for each verse.
    ZTextModule._decompressed_text = lru_cache(2)(ZTextModule._decompressed_text)
    modules = SwordModules(str(root / "usr/share/sword"))
    (name,) = modules.parse_modules()
    module = modules.get_bible_from_module(name)
    chapters = []
    for books in module.get_structure().get_books().values():
        for book in books:
            for number in range(1, book.num_chapters + 1):
                osis = module.get(books=[book.name], chapters=[number], clean=False)
                osis = re.sub(
                    r'<item subType="x-introduction".*?</item>', " ", osis, flags=re.S
                )  # a glossary
                osis = re.sub(
                    r"<note.*?</note>|<rdg.*?</rdg>|<title.*?</title>|<speaker>.*?</speaker>",
                    " ",
                    osis,
                    flags=re.S,
                )
                osis = re.sub(
                    r'<div sID="[^"]*" type="x-p"/>|<lb type="x-p"/>|<lg [^>]*>', "\0", osis
                )
                # Marks of lines and verses part words; marks inside a line (<w>, <q>) do not.
                osis = re.sub(r"</?(?:l|div|chapter|item|list)\b[^>]*>", " ", osis)
                plain = html.unescape(re.sub(r"<[^>]*>", "", osis))
                paragraphs = [tidy(p) for p in plain.split("\0")]
                text = "\n".join(p for p in paragraphs if len(p) > 1)
                if len(text) > 100:
                    chapters.append((f"{book.name} {number}", text))
    return chapters
