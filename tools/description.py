#!/usr/bin/env python3
"""Makes the links of the description absolute in wheels and source distributions, which are changed in place.

    tools/description.py FILE ...

The description is README.md. Its links are relative, so that a clone and a fork show their own pages and figures; a
package index has no files beside it. The address of the project stands in pyproject.toml.
"""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import io
import os
import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def address() -> str:
    """Where the repository is."""
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    return str(urls["Repository"])


def absolute(text: str) -> str:
    """Markdown with links that lead somewhere from anywhere: to a page as it is shown, and to a picture as it is."""

    def link(found: re.Match[str]) -> str:
        words, target = found.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return found[0]
        return f"{words}({address()}/{'raw' if words.startswith('!') else 'blob'}/main/{target})"

    return re.sub(r"(!?\[[^\]]*\])\(([^)\s]+)\)", link, text)


def changed(metadata: bytes) -> bytes:
    """Metadata of a package, whose description begins after the first empty line."""
    head, _, body = metadata.decode().partition("\n\n")
    return f"{head}\n\n{absolute(body)}".encode()


def change_wheel(path: Path, to: Path) -> None:
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w") as new:
        infos = {i.filename: i for i in old.infolist()}
        (name,) = (n for n in infos if n.endswith(".dist-info/METADATA"))
        record = name.replace("METADATA", "RECORD")
        content = changed(old.read(name))
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows = io.StringIO()
        writer = csv.writer(rows, lineterminator="\n")
        for row in csv.reader(io.StringIO(old.read(record).decode())):
            writer.writerow([name, f"sha256={digest}", len(content)] if row[0] == name else row)
        for info in infos.values():
            new.writestr(info, {name: content, record: rows.getvalue().encode()}.get(info.filename, old.read(info)))


def change_sdist(path: Path, to: Path) -> None:
    with (
        tarfile.open(path) as old,
        open(to, "wb") as file,
        # The same bytes at any time.
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as new,
    ):
        for member in old:
            # Of a link there is only the name.
            part = old.extractfile(member) if member.isreg() else None
            content = part.read() if part else b""
            if re.fullmatch(r"[^/]+/PKG-INFO", member.name):
                content = changed(content)
                member.size = len(content)
            new.addfile(member, io.BytesIO(content) if part else None)


def main() -> int:
    for name in sys.argv[1:]:
        path, to = Path(name), Path(f"{name}.partial")
        (change_wheel if path.suffix == ".whl" else change_sdist)(path, to)
        os.replace(to, path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
