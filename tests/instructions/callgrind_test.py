"""What is read out of callgrind's dumps, on invented ones."""

import unittest

import callgrind

DUMP = """\
# callgrind format
version: 1
thread: 1
desc: Trigger: Client Request: round
positions: line
events: Ir
summary: 1130

ob=/lib/libskein.so
fl=batch.cc
fn=skein::link::SendQueue::Send(int)
10 40
+2 60
fi=span.h
* 5
fe=batch.cc
cob=/lib/libc.so
cfn=malloc
calls=2 0
14 1000
-3 5

fn=skein::link::SendQueue::Send(char)
20 20

ob=/lib/libc.so.6
fl=???
fn=malloc
0 1000

totals: 1130
"""


class Parse(unittest.TestCase):
    def test_counts_each_function_without_what_it_calls(self):
        profile = callgrind.parse(DUMP)
        self.assertEqual(profile.functions, {"skein::link::SendQueue::Send": 130, "malloc": 1000})
        self.assertEqual(profile.libraries, {"libskein": 130, "libc": 1000})
        self.assertEqual(profile.instructions, 1130)

    def test_of_no_function(self):
        self.assertEqual(callgrind.parse("events: Ir\ntotals: 0\n"), callgrind.Profile(0, {}, {}))


class ShortName(unittest.TestCase):
    def test_lacks_what_tells_overloads_and_instances_apart(self):
        for name, short in (
            ("malloc", "malloc"),
            ("memcpy@GLIBC_2.2.5", "memcpy@GLIBC_2.2.5"),
            ("a::B<c::D<int> >::f(std::function<void ()>) const", "a::B::f"),
            ("a::(anonymous namespace)::f(int)", "a::f"),
            ("void std::vector<int, std::allocator<int> >::grow<int>(int&&)", "std::vector::grow"),
            ("std::function<void ()>::operator()() const", "std::function::operator()"),
            ("bool a::operator<(a::B, a::B)", "a::operator<"),
            ("a::B::operator->() const", "a::B::operator->"),
            ("a::f(int)'2", "a::f"),
            ("a::f(int) const [clone .part.0] [clone .isra.0]", "a::f"),
            ("operator new(unsigned long)", "operator new"),
            ("a::f()::{lambda(int)#1}::operator()(int) const", "a::f::{lambda#1}::operator()"),
        ):
            self.assertEqual(callgrind.short_name(name), short)


class Middle(unittest.TestCase):
    def test_is_the_median_round_per_operation(self):
        rounds = [callgrind.Profile(count, {"f": count}, {"l": count}) for count in (900, 200, 220, 210, 100)]
        self.assertEqual(callgrind.middle(rounds, 10), callgrind.Profile(21.0, {"f": 21.0}, {"l": 21.0}))
