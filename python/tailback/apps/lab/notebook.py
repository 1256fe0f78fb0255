"""The lab as a widget of a notebook, made with anywidget: the same page, with the notebook's kernel in place of the
server. The widget includes the engine for notebooks without a kernel."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tailback.apps.lab import page
from tailback.apps.lab.conversation import Conversation, hello
from tailback.apps.lab.state import State, explicit
from tailback.core.scenario.names import check_names
from tailback.core.scenario.read import Source, load_scenario
from tailback.core.text.arguments import checked

#: The scenario in which a queue is tried.
_LINE = {"kind": "dumbbell", "rate": "10Mbps", "delay": "1ms"}


@checked
def view(scenario: Source, beside: str | Mapping[str, Any] | None = None) -> Any:
    """A widget that shows a scenario with sliders, and a second discipline in addition to the scenario's own.

        from tailback.apps.lab.notebook import view
        view(tb.dumbbell(flows=10, bottleneck="50Mbps", rtt="40ms").set(duration="30s"), beside="codel")

    Needs the extra `notebook`.
    """
    try:
        import anywidget
        import traitlets
    except ImportError as e:
        raise ImportError(f"the widget needs {e.name}: pip install 'tailback[notebook]'") from e

    class Widget(anywidget.AnyWidget):
        _esm = page.module()
        _css = page.style()
        hello = traitlets.Dict().tag(sync=True)
        # With these files an exported notebook runs without a kernel.
        engine = traitlets.Unicode().tag(sync=True)
        worker = traitlets.Unicode().tag(sync=True)

    document = explicit(json.loads(load_scenario(scenario).json))
    if beside is not None:
        check_names({"topology": {**_LINE, "queue": beside}}, "topology.queue", "beside")
    queue = {"kind": beside} if isinstance(beside, str) else None if beside is None else dict(beside)
    widget = Widget(hello=hello(State(document, queue)), engine=page.engine_or_none() or "", worker=page.worker())
    talk = Conversation(lambda frame: widget.send({}, [frame]))
    widget.on_msg(lambda _widget, message, _buffers: talk.take(json.dumps(message)))
    return widget
