#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints what a YAML file has that Kubernetes' own model of the object does not, or lacks.

fits-kubernetes.py MODEL FILE
"""
import re
import sys

import kubernetes.client
import yaml


def check(value, kind, path):
    item = re.fullmatch(r"list\[(.*)\]|dict\(str, (.*)\)", kind)
    if item and item[1]:
        for i, one in enumerate(value):
            check(one, item[1], f"{path}[{i}]")
    model = None if item else getattr(kubernetes.client, kind, None)
    if not model:
        return
    known = {name: attribute for attribute, name in model.attribute_map.items()}
    for name in value:
        if name not in known:
            print(f"{path}.{name}: not in {kind}")
        else:
            check(value[name], model.openapi_types[known[name]], f"{path}.{name}")
    try:
        model(**{known[name]: value[name] for name in value if name in known})
    except ValueError as error:
        print(f"{path}: {error}")


with open(sys.argv[2]) as file:
    check(yaml.safe_load(file), sys.argv[1], "")
