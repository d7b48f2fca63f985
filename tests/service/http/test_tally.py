"""What processes count is added up, and never shrinks, however they end."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.service.http.metrics import ServiceMetrics
from ranger_cdap.service.http.tally import SIZE, Tally
from tests.service.exported_figures import samples

ROUTES = ("/cdap/v1/enforce", "/health/live", "unknown")
REQUESTS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(ROUTES),
        st.sampled_from([200, 401, 429, 503]),
        st.floats(0, 20),
        st.booleans(),
    ),
    max_size=60,
)


@given(REQUESTS)
def test_the_figures_are_those_of_one_process_that_counted_everything(
    requests: list[tuple[int, str, int, float, bool]],
) -> None:
    blocks = [memoryview(bytearray(SIZE)) for _ in range(3)]
    service, alone = ServiceMetrics(others=map(Tally, blocks)), ServiceMetrics()
    workers = [ServiceMetrics(Tally(block)) for block in blocks]
    before: dict[str, float] = Counter()
    for place, route, status, seconds, killed in requests:
        for one in (workers[place], alone):
            one.answered(route, status, seconds)
            one.decided("cdap", status == 200)
        if killed:
            workers[place] = ServiceMetrics(Tally(blocks[place]))
        service = ServiceMetrics(others=map(Tally, blocks))
        found = {str(name): number for name, number in samples(service.text().decode()).items()}
        assert all(found[name] >= number for name, number in before.items() if "latency" not in name)
        before = found
    assert {name: round(number, 6) for name, number in samples(service.text().decode()).items()} == {
        name: round(number, 6) for name, number in samples(alone.text().decode()).items()
    }


def test_a_reader_sees_what_is_counted_after_it_began() -> None:
    block = memoryview(bytearray(SIZE))
    service = ServiceMetrics(others=[Tally(block)])
    ServiceMetrics(Tally(block)).answered("/health/live", 200, 0.001)
    assert b'ranger_cdap_requests_total{route="/health/live",status="200"} 1.0' in service.text()


def test_requests_of_a_killed_worker_are_not_under_way() -> None:
    block = memoryview(bytearray(SIZE))
    ServiceMetrics(Tally(block)).under_way.inc()
    service = ServiceMetrics(others=[Tally(block)])
    assert b"ranger_cdap_requests_under_way 1.0" in service.text()
    ServiceMetrics(Tally(block))
    assert b"ranger_cdap_requests_under_way 0.0" in service.text()


def test_copied_numbers_go_on_where_a_killed_worker_stopped() -> None:
    block = memoryview(bytearray(SIZE))
    service = ServiceMetrics(others=[Tally(block)])
    for counted in ((3.0, 5.0), (1.0, 2.0)):
        worker = ServiceMetrics(Tally(block))
        for number in counted:
            worker.copy({("audit_lost",): number})
    assert service.of_workers("audit_lost") == {"": 7}
