"""What a package index shows: the front page, with links that lead somewhere from anywhere."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))

import description  # noqa: E402

README = (ROOT / "README.md").read_text(encoding="utf-8")
HEAD = "Metadata-Version: 2.4\nName: tailback\nProject-URL: Repository, https://example.org\n\n"


def links(text: str) -> list[str]:
    return re.findall(r"\]\(([^)]+)\)", text)


def changed(path: Path) -> Path:
    subprocess.run([sys.executable, str(ROOT / "tools/description.py"), str(path)], check=True)
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name]
    return path


def test_every_link_leads_to_a_file_of_the_repository() -> None:
    there = links(description.absolute(README))
    assert len(there) == len(links(README)) > 20
    for target in there:
        place = re.fullmatch(rf"{description.address()}/(blob|raw)/main/([^#]+)(#.*)?", target)
        assert place and (ROOT / place[2]).is_file(), target
        assert (place[1] == "raw") == place[2].endswith(".png")
    kept = "[a](https://example.org/x) [b](#there) [c](mailto:a@example.org)"
    assert description.absolute(kept) == kept


def test_the_address_is_that_of_the_crates() -> None:
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())
    assert cargo["workspace"]["package"]["repository"] == description.address()


def test_a_wheel_has_them_and_its_record_holds(tmp_path: Path) -> None:
    files = {"tailback/a.py": b"[a](b.md)\n", "tailback-1.dist-info/METADATA": (HEAD + README).encode()}

    def row(name: str, content: bytes) -> str:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        return f"{name},sha256={digest},{len(content)}\n"

    record = "".join(row(*f) for f in files.items()) + "tailback-1.dist-info/RECORD,,\n"
    wheel = tmp_path / "tailback-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**files, "tailback-1.dist-info/RECORD": record.encode()}.items():
            archive.writestr(name, content)
    with zipfile.ZipFile(changed(wheel)) as archive:
        assert archive.testzip() is None
        files["tailback-1.dist-info/METADATA"] = (HEAD + description.absolute(README)).encode()
        assert {name: archive.read(name) for name in files} == files
        told = archive.read("tailback-1.dist-info/RECORD").decode()
        assert told == "".join(row(*f) for f in files.items()) + "tailback-1.dist-info/RECORD,,\n"
        assert all(i.compress_type == zipfile.ZIP_DEFLATED for i in archive.infolist())


@pytest.mark.parametrize("twice", [False, True])
def test_a_source_distribution_has_them(twice: bool, tmp_path: Path) -> None:
    sdist = tmp_path / "tailback-1.tar.gz"
    files = {"tailback-1/README.md": README, "tailback-1/PKG-INFO": HEAD + README}
    with tarfile.open(sdist, "w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    before = changed(sdist).read_bytes()
    if twice:
        assert changed(sdist).read_bytes() == before
    with tarfile.open(sdist) as archive:
        said = {name: archive.extractfile(name).read().decode() for name in files}  # type: ignore[union-attr]
    assert said == {**files, "tailback-1/PKG-INFO": HEAD + description.absolute(README)}
