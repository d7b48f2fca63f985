"""URLs that one reader takes for this machine and another one for another server."""

from __future__ import annotations

from hypothesis import strategies as st

LOOPBACK = ("127.0.0.1", "127.0.0.2", "127.255.255.254", "[::1]")

HOSTS = (
    *LOOPBACK,
    *("localhost", "LOCALHOST", "localhost.", "ip6-localhost", "localhost.localdomain", "127.0.0.1.evil.example"),
    *("127.1", "127.0.1", "0x7f.1", "0x7f000001", "2130706433", "017700000001", "0177.0.0.1", "127.000.000.001"),
    *("127.0.0.1.", "127.0.0.256", "127.0.0.01", "127.0.0.1%00", "127.0.0.1%2eevil.example", "0.0.0.0", "0", "[::]"),
    *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]", "[0::1]", "[::1%lo]", "[::1%25lo]", "[::01]"),
    *("::1", "[127.0.0.1]", "[::1", "::1]", "[::1].evil.example", "[fe80::1]", "[fd00::5]", "[1:2]", "[zz]"),
    *(
        "\uff11\uff12\uff17.0.0.1",
        "127\u30020\u30020\u30021",
        "\u2460\u2461\u2466.0.0.1",
        "localho\u017ft",
        "evil.example",
        "10.0.0.5",
        "128.0.0.1",
        "12.7.0.0.1",
    ),
    *("", ".", "..", "-", "evil_host", "evil.example.", "xn--127-0.example"),
)
"""Spellings of a host: of this machine, of others, and of what readers do not agree on."""

_SCHEMES = ("http", "https", "HTTP", "Http", "httpS", "http:", "ftp", "file", "javascript", "http+unix", " http", "")
_SEPARATORS = ("://", ":", ":/", ":///", "://///", ":\\\\", ":/\\", "//")
_USERS = ("", "", "", "127.0.0.1@", "127.0.0.1:80@", "a:b@", "@", "evil.example@", "127.0.0.1\\@", "127.0.0.1%40")
_PORTS = (
    "",
    "",
    ":1",
    ":6080",
    ":",
    ":0",
    ":65535",
    ":65536",
    ":99999999999",
    ":-1",
    ":+1",
    ":8 0",
    ":\u0663",
    ":80@evil.x",
)
_TAILS = (
    *("", "", "/", "//", "/solr/ranger_audits", "/../..", "/%2e%2e", "?q", "?@evil.example", "#", "#@evil.example"),
    *(
        "\\@evil.example",
        "/\\evil.example",
        "\n",
        "\r\nHost: evil.example",
        "\t",
        " ",
        "/@evil.example",
        ";@evil.example",
    ),
    *("/a b", "/é", "/a?b", "/a#b", "\0", ".evil.example", "/:@evil.example"),
)


def spellings() -> st.SearchStrategy[str]:
    """URLs put together from pieces that readers stumble over, some with letters in between that do not belong."""
    pieces = st.tuples(*map(st.sampled_from, (_SCHEMES, _SEPARATORS, _USERS, HOSTS, _PORTS, _TAILS)))
    usual = st.tuples(
        st.sampled_from(("http", "https")), st.just("://"), st.just(""), *map(st.sampled_from, (HOSTS, _PORTS, _TAILS))
    )
    whole = st.one_of(usual, pieces).map("".join)
    noise = st.text("\t\r\n \\/@:#?[].%\x00127xX\uff10", max_size=2)
    noisy = st.tuples(whole, noise, st.integers(0, 40)).map(lambda t: t[0][: t[2]] + t[1] + t[0][t[2] :])
    return st.one_of(whole, noisy)


TRICKS = tuple(f"http://{host}:6080" for host in HOSTS if host not in LOOPBACK) + tuple(
    f"http://{user}evil.example"
    for user in ("127.0.0.1@", "127.0.0.1:80@", "127.0.0.1\\@", "127.0.0.1#@", "127.0.0.1?@")
)
"""Plain http to what only looks like this machine."""
