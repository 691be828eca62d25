"""What the commands write: a file keeps its mode and its links, and a pipe is written to."""

import os
import stat

import pytest

from tests.adaptive.cli.commands import run_ok

pytestmark = pytest.mark.wide


def test_a_file_that_is_written_anew_keeps_its_mode_and_its_links(folder):
    target = folder / "kept.csv"
    target.write_text("old")
    target.chmod(0o640)
    (folder / "link.csv").symlink_to(target)
    run_ok("pair", "tokens.csv", "--out", "link.csv")
    assert (folder / "link.csv").is_symlink()
    assert target.read_text().startswith("item_1,item_2")
    assert target.stat().st_mode & 0o777 == 0o640


def test_out_may_be_a_pipe(folder):
    """It is written to, not replaced."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        run_ok("pair", "tokens.csv", "--out", "pipe")
        assert os.read(reader, 18) == b"item_1,item_2,area"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
