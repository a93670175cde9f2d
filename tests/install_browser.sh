#!/bin/sh
# The browser tests use Debian's Chromium. Install it where that is permitted; elsewhere those tests say why they skip.
command -v chromium >/dev/null 2>&1 && exit 0
command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ] || {
    echo "chromium is not installed and cannot be installed here: browser tests will be skipped" >&2
    exit 0
}
{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1 ||
    echo "chromium could not be installed: browser tests will be skipped" >&2
