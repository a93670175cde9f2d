"""What the server did, as numbers for Prometheus. They name routes, never items or people, and are for the admin."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import accumulate
from threading import Lock

METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE")
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)  # seconds


class Metrics:
    """Counters of requests by method, route and status, and how long they took."""

    def __init__(self, worker: int = 0) -> None:
        self.worker = worker  # its number where there are several; each is asked about itself
        self._lock = Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._within = [0] * (len(BOUNDS) + 1)  # how many took longer than one bound and no longer than the next
        self._seconds, self._count = 0.0, 0
        self._failed: Counter[str] = Counter()

    def fail(self, work: str) -> None:
        """Work in the background that went wrong, and waits for its next turn."""
        with self._lock:
            self._failed[work] += 1

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        with self._lock:
            self._requests[method if method in METHODS else "other", route, status] += 1
            self._seconds, self._count = self._seconds + seconds, self._count + 1
            self._within[bisect_left(BOUNDS, seconds)] += 1

    def text(self, gauges: dict[str, float]) -> str:
        """In Prometheus' text format, with some numbers that are true at this moment."""
        with self._lock:
            own = f'worker="{self.worker}"'
            lines = ["# TYPE recveil_requests_total counter"]
            lines += [
                f'recveil_requests_total{{{own},method="{method}",route="{route}",status="{status}"}} {n}'
                for (method, route, status), n in sorted(self._requests.items())
            ]
            lines += ["# TYPE recveil_request_seconds histogram"]
            lines += [
                f'recveil_request_seconds_bucket{{{own},le="{bound:g}"}} {n}'
                for bound, n in zip(BOUNDS, accumulate(self._within), strict=False)
            ]
            lines += [
                f'recveil_request_seconds_bucket{{{own},le="+Inf"}} {self._count}',
                f"recveil_request_seconds_sum{{{own}}} {self._seconds:.6f}",
                f"recveil_request_seconds_count{{{own}}} {self._count}",
            ]
            lines += ["# TYPE recveil_work_failed_total counter"]
            lines += [f'recveil_work_failed_total{{{own},work="{w}"}} {n}' for w, n in sorted(self._failed.items())]
        for name, value in gauges.items():
            lines += [f"# TYPE recveil_{name} gauge", f"recveil_{name}{{{own}}} {value:g}"]
        return "\n".join(lines) + "\n"
