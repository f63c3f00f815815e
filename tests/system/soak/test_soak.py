"""Half a minute of everything at once, which judges bytes and calls; ./run soak has more."""

import soak


def test_faults_of_others_spoil_no_call_between_what_stays(build, tmp_path):
    words = ["--build", str(build), "--minutes", "0.5", "--fault_every", "3", "--out", str(tmp_path)]
    assert soak.run(soak.parse_arguments(words))
