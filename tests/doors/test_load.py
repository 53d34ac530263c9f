"""Loading module:factory: every fault has one clear error."""

import pytest

from realtime_session.doors.load import load_factory
from realtime_session.values.errors import InputError


def test_a_factory_is_found_also_inside_a_class():
    assert load_factory("collections:OrderedDict.fromkeys")("a") == {"a": None}


@pytest.mark.parametrize("name, code", [
    ("collections", "load/name"), (":x", "load/name"), ("collections:", "load/name"),
    ("no_such_module_here:x", "load/import"), ("collections:nothing", "load/missing"),
    ("sys:maxsize", "load/not_callable"),
])
def test_faults_are_named(name, code):
    with pytest.raises(InputError) as caught:
        load_factory(name)
    assert caught.value.code == code


def test_a_module_that_fails_or_leaves_is_an_import_error(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "leaving_subject.py").write_text("raise SystemExit('bye')", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_factory("leaving_subject:make")
    assert "SystemExit: bye" in caught.value.message
