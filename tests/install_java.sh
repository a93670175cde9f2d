#!/bin/sh
# Spark needs Java. Install Debian's where that is permitted; elsewhere the Spark tests say why they skip.
command -v java >/dev/null 2>&1 && exit 0
[ -z "$RECVEIL_NO_INSTALL" ] && command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ] || {
    echo "java is not installed and may not be installed here: Spark tests will be skipped" >&2
    exit 0
}
{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless; } >/dev/null 2>&1 ||
    echo "java could not be installed: Spark tests will be skipped" >&2
