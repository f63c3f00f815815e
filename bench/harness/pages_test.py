"""The pages of docs/ have the figures of the records: each is as its benchmark writes it from the file in bench/results."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[1]
DOCS = BENCH.parent / "docs"
# What bench/run.sh calls each benchmark that has a page, and its record.
RECORDS = {
    "report": "services", "vm": "services_vm", "trace": "tracing", "before": "before", "busy": "busy", "current-grpc": "current_grpc",
    "large": "large_payloads", "rdma": "soft_roce", "flock-sim": "flock_sim", "service-sim": "service_sim",
    "replicate-sim": "replicate_sim", "durable": "durable", "durable-apps": "durable_apps", "durable-store": "durable_store",
    "durable-calls": "durable_calls", "durable-replicas": "durable_replicas", "apps": "apps", "flush": "flush",
}  # fmt: skip


def plots(docs):
    return {str(file.relative_to(docs)) for file in docs.glob("*/*.svg")}


class Pages(unittest.TestCase):
    def test_are_what_their_records_say(self):
        with tempfile.TemporaryDirectory() as folder:
            written = pathlib.Path(folder)
            for page in DOCS.glob("*.md"):
                shutil.copy(page, written)
            for name, record in RECORDS.items():
                with self.subTest(name):
                    results = BENCH / "results" / f"{record}.json"
                    command = [BENCH / "run.sh", "not-built", name, f"--results={results}", f"--docs={written}"]
                    done = subprocess.run(command, capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)
            for page in DOCS.glob("*.md"):
                with self.subTest(page.name):
                    self.assertEqual((written / page.name).read_text(), page.read_text())
            self.assertEqual(plots(written), {file for file in plots(DOCS) if (written / file).parent.exists()})
