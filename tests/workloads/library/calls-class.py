#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""calls-class.py N SIZE: a Java class, on stdout, whose main() calls leaf() N times and makes a
byte[SIZE] after each.

Written here since a Java compiler is five times the size of what runs it.  Version 49 of the
format needs no stack maps.
"""
import struct
import sys


def u2(*values):
    return struct.pack(f">{len(values)}H", *values)


def sized(code):
    return struct.pack(">I", len(code)) + code


def utf8(text):
    return b"\x01" + u2(len(text)) + text.encode("ascii")


def integer(value):
    return b"\x03" + struct.pack(">i", value)


def method(name, descriptor, code):
    # public static; at most 2 values on the stack and 2 local variables; no exceptions.
    return u2(9, name, descriptor, 1, CODE) + sized(u2(2, 2) + sized(code) + u2(0, 0))


N, SIZE = (int(arg) for arg in sys.argv[1:])
POOL = [utf8("Calls"), b"\x07" + u2(1), utf8("java/lang/Object"), b"\x07" + u2(3),
        utf8("main"), utf8("([Ljava/lang/String;)V"), utf8("leaf"), utf8("()V"),
        b"\x0c" + u2(7, 8), b"\x0a" + u2(2, 9), utf8("Code"), integer(N), integer(SIZE)]
CLASS, OBJECT, MAIN, MAIN_TYPE, LEAF, LEAF_TYPE, LEAF_REF, CODE, N_REF, SIZE_REF = 2, 4, 5, 6, 7, 8, 10, 11, 12, 13

LOOP = (b"\x03\x3c"                       # 0: iconst_0, istore_1
        + b"\x1b\x12" + bytes([N_REF])    # 2: iload_1, ldc N
        + b"\xa2\x00\x11"                 # 5: if_icmpge 22
        + b"\xb8" + u2(LEAF_REF)          # 8: invokestatic leaf
        + b"\x12" + bytes([SIZE_REF])     # 11: ldc SIZE
        + b"\xbc\x08\x57"                 # 13: newarray byte, pop
        + b"\x84\x01\x01"                 # 16: iinc 1 by 1
        + b"\xa7\xff\xef"                 # 19: goto 2
        + b"\xb1")                        # 22: return

sys.stdout.buffer.write(
    b"\xca\xfe\xba\xbe" + u2(0, 49) + u2(len(POOL) + 1) + b"".join(POOL)
    + u2(0x21, CLASS, OBJECT, 0, 0) + u2(2) + method(MAIN, MAIN_TYPE, LOOP)
    + method(LEAF, LEAF_TYPE, b"\xb1") + u2(0))
