"""What ./run says where packages are missing and it cannot become root."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class WithoutRoot(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def install(self, **programs):
        """install_packages of a package that is not there, by another user, with these programs and no others."""
        for name, script in {"dpkg-query": "exit 1", **programs}.items():
            (self.folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (self.folder / name).chmod(0o755)
        for name in ("sed", "awk", "dirname", "mkdir", "tail"):
            (self.folder / name).symlink_to(f"/usr/bin/{name}")
        (self.folder / "packages").write_text("libnothing-dev # for the test\n")
        # EUID is bash's own and cannot be set; as root, it is asked as if it were not.
        script = "\n".join([
            f"source {ROOT}/scripts/lib.sh", f"source {ROOT}/scripts/setup.sh", f"BUILD={self.folder}",
            'eval "$(declare -f check_root as_root | sed s/EUID/1000/)"', f"install_packages {self.folder}/packages",
        ])
        return subprocess.run(["/bin/bash", "-euo", "pipefail", "-c", script], env={**os.environ, "PATH": str(self.folder)},
                              capture_output=True, text=True, timeout=60)

    def test_no_sudo(self):
        result = self.install()
        self.assertEqual(result.returncode, 1)
        self.assertIn("apt-get install libnothing-dev", result.stderr)

    def test_sudo_asks_for_a_password(self):
        result = self.install(sudo="exit 1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("sudo -v", result.stderr)

    def test_the_package_manager_fails(self):
        result = self.install(sudo='[ "$2" = true ] && exit 0; echo "E: no such mirror"; exit 100')
        self.assertEqual(result.returncode, 1)
        self.assertIn("E: no such mirror", result.stderr)
        self.assertIn("status 100", result.stderr)

    def test_what_ends_the_shell_is_told_too(self):
        script = f"source {ROOT}/scripts/lib.sh; ends() {{ die 'for this reason'; }}; quietly it {self.folder}/log ends"
        result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
        self.assertIn("for this reason", result.stderr)
        self.assertIn("it failed", result.stderr)
