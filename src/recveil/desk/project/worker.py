"""A worker: a process that does jobs. It loads what work needs, then waits for the name of a job on its input.

Run as `python -m recveil.desk.project.worker FOLDER`. It says on its output when a job is over. When its input ends,
nobody wants it any more: a job that it has begun is finished, and no other is taken.
"""

from __future__ import annotations

import os
import sys
import traceback

from recveil.desk.project.folder import Project
from recveil.desk.project.jobs import DONE, JobStore, WrittenProgress
from recveil.desk.project.stages import perform
from recveil.errors import NO_MEMORY, RecveilError, not_installed


def main(folder: str) -> None:
    from pathlib import Path

    desk = JobStore(Project(Path(folder)))
    for line in sys.stdin:
        work(desk, line.strip())
        print("over", flush=True)


def work(desk: JobStore, mark: str) -> None:
    """Do a job, unless it is done or another process is at it; its result, or the line why there is none."""
    with desk.taken(mark, killable=True) as mine:
        one = desk.job(mark)
        if not mine or one is None or desk.state(mark) == DONE:
            return
        told = WrittenProgress(desk.file(mark, "progress"))
        try:
            desk.keep(mark, perform(desk.project, one, told))
        except RecveilError as why:
            desk.fail(mark, str(why), getattr(why, "field", None))
        except ModuleNotFoundError as missing:
            desk.fail(mark, not_installed(missing))
        except MemoryError:
            desk.fail(mark, NO_MEMORY)
        except OSError as why:
            desk.fail(mark, f"it cannot be done: {why.strerror or why}")
        except Exception as error:  # ours: the desk goes on, and who started it finds the trace where it was started
            traceback.print_exc()
            desk.fail(mark, f"an error of recveil, not of the request ({type(error).__name__})")
        told.close()


if __name__ == "__main__":
    os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")
    try:
        main(sys.argv[1])
    except (RecveilError, KeyboardInterrupt) as stopped:
        sys.exit(str(stopped))
    except BrokenPipeError:  # the desk is gone
        os._exit(0)
