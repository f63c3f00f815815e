"""bench_services.py OPTION...: both ends of bench/macro/services.py's figures from guest to guest. Its options are the
same. The client guest measures; the server guest starts the servers that it is asked for. Leaves
$VM_RESULTS/results.json."""

import contextlib
import json

import services
import stage
from harness import machine
from plan import Load
from skeintest import guests

TRIAL = 0.2  # seconds
RDMA_MTU = 1024
HOURS = 12 * 3600  # vm.sh has the limit


class Server:
    """The server that is running in the server guest."""

    def __init__(self):
        self._running = contextlib.ExitStack()

    def answer(self, question):
        verb, *arguments = json.loads(question)
        try:
            if verb == "start":
                address, _ = self._running.enter_context(stage.serving(*arguments))
                return json.dumps({"address": address})
            self._running.close()
            return json.dumps({})
        except stage.Failure as failure:
            return json.dumps({"failure": str(failure)})


class GuestStage(stage.Stage):
    """Clients here, servers in the server guest."""

    address = guests.PEER
    patience = 40

    def __init__(self, build):
        super().__init__(build)
        self._environment.update(guests.SETTINGS)
        self._questions = 0
        self._tried = {}  # (api, whether there are several callers, transport): its obstacle
        self._stuck = {}  # transport: its obstacle, in the kernel, for all of them

    def obstacle(self, load, transport):
        """Only a trial tells what the kernel has, and what the framework asks of sockets that are not TCP's."""
        missing = super().obstacle(load, transport)
        if missing or transport.needs_skein or not transport.rdma:
            return missing
        case = (load.api, load.callers > 1, transport)
        if case not in self._tried and transport not in self._stuck:
            self._tried[case] = self._try(Load(load.api, callers=load.callers), transport)
        return self._stuck.get(transport) or self._tried[case]

    def measure(self, load, transport, seconds):
        before = guests.packets()
        figures = super().measure(load, transport, seconds)
        # Small messages may share a packet; that much they fill at least.
        least = figures["calls_per_s"] * seconds * load.size / RDMA_MTU
        sent, received = (now - then for now, then in zip(guests.packets(), before))
        if transport.rdma and min(sent, received) < least:
            raise stage.Failure(f"not over RDMA: rxe0 sent {sent} packets and received {received}, {least:.0f} expected")
        return figures

    def _try(self, load, transport):
        try:
            self.measure(load, transport, TRIAL)
            return ""
        except stage.Stuck as stuck:
            self._stuck[transport] = str(stuck)
            return str(stuck)
        except stage.Failure as failure:
            return str(failure)

    @contextlib.contextmanager
    def _serving(self, command, environment, ends):
        address = self._on_server("start", command, environment, ends)["address"]
        try:
            yield address, 0
        finally:
            self._on_server("stop")

    def _on_server(self, *question):
        self._questions += 1
        answer = json.loads(guests.ask(self._questions - 1, json.dumps(question)))
        if "failure" in answer:
            raise stage.Failure(answer["failure"])
        return answer


def main():
    if guests.ROLE == "server":
        guests.tell("serving")
        guests.answer_questions(Server().answer, HOURS)
        return
    guests.wait_for("serving")
    options = services.parse_arguments()
    with GuestStage(options.build) as here:
        scenarios = services.measure(here, options)
    results = {"machine": machine.describe(), "scenarios": scenarios}
    (guests.RESULTS / "results.json").write_text(json.dumps(results))
    guests.tell("done")


if __name__ == "__main__":
    main()
