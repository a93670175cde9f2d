"""One Spark session for all tests of a process, as cheap as a small table allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from recveil.errors import RecveilError

# A query here runs once on a few hundred rows: compiling it costs more than it gives. Jobs that start a session of
# their own (test_spark_cluster) have Spark's defaults.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
PLAIN = ("spark.sql.codegen.wholeStage=false", "spark.sql.codegen.factoryMode=NO_CODEGEN")


@pytest.fixture(scope="session")
def spark_session() -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    from recveil.spark import session as sessions

    try:
        sessions._check_java()
    except RecveilError as why:
        pytest.skip(str(why))
    with pytest.MonkeyPatch.context() as patch:
        options = [f'--driver-java-options "{JAVA}"', *(f"--conf {option}" for option in PLAIN)]
        patch.setenv("PYSPARK_SUBMIT_ARGS", f"--driver-memory 1g {' '.join(options)} pyspark-shell")
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        with sessions.session("local[2]") as running:
            yield running


@pytest.fixture
def spark(spark_session: Any) -> Any:
    """The session that runs, with few partitions: commands of this process take it, too."""
    spark_session.conf.set("spark.sql.shuffle.partitions", "3")
    return spark_session
