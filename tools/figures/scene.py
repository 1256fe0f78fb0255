"""The line and the flows of all these figures, so that the pages can be compared."""

from __future__ import annotations

#: A place for a queue's table.
LINK = 'topology = {{ kind = "dumbbell", rate = "10Mbps", delay = "20ms", queue = {} }}\n'
ROUND_TRIPS = 'rtt = ["60ms", "80ms", "100ms", "120ms", "140ms"]\n'
TEN = f"[flows.ten]\ncount = 10\n{ROUND_TRIPS}"
#: For a third of the time.
SHADED = 'start = "20s"\nstop = "40s"\n'
CBR = 'transport = "udp"\ntraffic = { kind = "cbr", rate = "5Mbps" }\npacket_size = "1500B"\n'
CALL = '[flows.call]\ntransport = "udp"\ntraffic = { kind = "cbr", rate = "80kbps" }\npacket_size = "200B"\n'
#: Ten TCP flows, half of the line for one that does not respond, and a call.
MIXED = f"{TEN}[flows.heavy]\n{CBR}{CALL}"

#: Flows of a run over time, and what is said of them.
TWICE = (f"{TEN}[flows.more]\ncount = 10\n{SHADED}{ROUND_TRIPS}", "10 TCP flows of 60 to 140 ms, shaded: 20")
UNRESPONSIVE = (f"{TEN}[flows.heavy]\n{SHADED}{CBR}", "10 TCP flows; shaded: and 5 Mb/s that do not respond")


def coloured(conditioner: str) -> tuple[str, str]:
    """Five flows with a contract; while it is shaded five more without."""
    contract = f"[flows.contract]\ncount = 5\n{ROUND_TRIPS}conditioner = {{ {conditioner} }}\n"
    rest = f'[flows.rest]\ncount = 5\n{SHADED}{ROUND_TRIPS}conditioner = {{ kind = "code-point", code = "AF13" }}\n'
    return contract + rest, "5 TCP flows with contracts; shaded: and 5 without"


BUCKET = coloured('kind = "token-bucket", rate = "1Mbps", depth = "15000B"')
METER = coloured(
    'kind = "trtcm", committed_rate = "1Mbps", peak_rate = "2Mbps", committed_burst = "15KB", peak_burst = "15KB"'
)
DECBIT = 'transport = { kind = "decbit", wmax = 60 }\n'
ASKED = (
    f"{TEN}{DECBIT}[flows.more]\ncount = 10\n{SHADED}{ROUND_TRIPS}{DECBIT}",
    "10 DECbit flows of 60 to 140 ms, shaded: 20",
)
ECN = 'tcp = { congestion = "reno", ecn = "on" }\n'
MARKED = (f"{TEN}{ECN}[flows.more]\ncount = 10\n{SHADED}{ROUND_TRIPS}{ECN}", TWICE[1])
BOTH_KINDS = (
    f'{TEN}{ECN}[flows.more]\ncount = 10\n{SHADED}{ROUND_TRIPS}tcp = {{ congestion = "prague", ecn = "on" }}\n',
    "10 Reno flows of 60 to 140 ms; shaded: and 10 of Prague",
)
CLASSES = (
    '[flows.calls]\nconditioner = { kind = "code-point", code = "EF" }\ntransport = "udp"\n'
    'traffic = { kind = "cbr", rate = "500kbps", jitter = 0.1 }\npacket_size = "200B"\n'
    f'[flows.gold]\ncount = 5\n{ROUND_TRIPS}conditioner = {{ kind = "code-point", code = "AF11" }}\n'
    f'[flows.bronze]\ncount = 5\n{ROUND_TRIPS}conditioner = {{ kind = "code-point", code = "AF41" }}\n'
    f"[flows.heavy]\n{SHADED}{CBR}",
    "calls, 5 TCP flows in AF1, 5 in AF4; shaded: 5 Mb/s of best effort",
)
