#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Usage: sbom.py DIR LINKED VERSION MACHINE EPOCH URL

The bill of materials, as JSON of SPDX 2.3, of the files in DIR and of the libraries that they hold: LINKED is what
scripts/package/linked prints. It is the same for the same arguments.
"""
import datetime
import hashlib
import json
import os
import re
import sys
from urllib.parse import quote

OURS = "GPL-2.0-only OR BSD-2-Clause"
# Whose texts SPDX does not have.
EXTRACTED = {"LicenseRef-public-domain": "liblzma before 5.6 has been put into the public domain by its authors."}
# These name all others.
EXCLUDED = {"./SHA256SUMS", "./plumb.spdx.json"}


def identifier(kind, name):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def related(one, how, other):
    return {"spdxElementId": one, "relationshipType": how, "relatedSpdxElement": other["SPDXID"]}


def files_of(folder):
    for path, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            whole = os.path.join(path, name)
            relative = "./" + os.path.relpath(whole, folder)
            if os.path.islink(whole) or relative in EXCLUDED:
                continue
            with open(whole, "rb") as file:
                content = file.read()
            yield {
                "SPDXID": identifier("File", hashlib.sha256(relative.encode()).hexdigest()[:16]),
                "fileName": relative,
                # Version 2.3 wants the first of each file.
                "checksums": [{"algorithm": name, "checksumValue": hashlib.new(name, content).hexdigest()} for name in ("SHA1", "SHA256")],
                "licenseConcluded": "NOASSERTION",
                "copyrightText": "NOASSERTION",
            }


def distribution():
    with open("/etc/os-release", encoding="utf-8") as file:
        name = re.search(r'^ID="?([^"\n]*)', file.read(), re.M).group(1)
    return ("deb" if os.path.exists("/var/lib/dpkg/status") else "rpm"), name


def libraries_of(linked):
    """A package for each of the distribution's that has a file that is linked."""
    held = {}
    with open(linked, encoding="utf-8") as file:
        for line in file:
            name, package, version, source, source_version, licence = line.rstrip("\n").split("\t")
            one = held.setdefault(package, {"version": version, "source": f"{source} {source_version}", "files": [], "licences": set()})
            one["files"].append(name)
            one["licences"].add(licence)
    kind, vendor = distribution()
    for package, one in sorted(held.items()):
        licences = sorted(one["licences"])
        yield {
            "SPDXID": identifier("Package", package),
            "name": package,
            "versionInfo": one["version"],
            "supplier": "NOASSERTION",
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
            "sourceInfo": f"{', '.join(one['files'])}; the source package is {one['source']}",
            "licenseConcluded": licences[0] if len(licences) == 1 else " AND ".join(f"({each})" for each in licences),
            "licenseDeclared": "NOASSERTION",
            "copyrightText": "NOASSERTION",
            "externalRefs": [{
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:{kind}/{vendor}/{quote(package)}@{quote(one['version'])}",
            }],
        }


def document(folder, linked, version, machine, epoch, url):
    files = list(files_of(folder))
    libraries = list(libraries_of(linked))
    first = sorted(file["checksums"][0]["checksumValue"] for file in files)
    tools = {
        "SPDXID": "SPDXRef-Package-plumb-tools",
        "name": "plumb-tools",
        "versionInfo": version,
        "supplier": "NOASSERTION",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": True,
        "packageVerificationCode": {"packageVerificationCodeValue": hashlib.sha1("".join(first).encode()).hexdigest(),
                                    "packageVerificationCodeExcludedFiles": sorted(EXCLUDED)},
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": OURS,
        "copyrightText": "2026 the plumb authors",
    }
    used = " ".join(library["licenseConcluded"] for library in libraries)
    whole = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"plumb-{version}-{machine}",
        "creationInfo": {
            "created": datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": [f"Tool: plumb-sbom-{version}"],
        },
        "packages": [tools, *libraries],
        "files": files,
        "hasExtractedLicensingInfos": [{"licenseId": name, "extractedText": text} for name, text in EXTRACTED.items() if name in used],
        "relationships": [
            related("SPDXRef-DOCUMENT", "DESCRIBES", tools),
            *(related(tools["SPDXID"], "CONTAINS", file) for file in files),
            *(related(tools["SPDXID"], "STATIC_LINK", library) for library in libraries),
        ],
    }
    # Another content has another name.
    content = hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()
    whole["documentNamespace"] = f"{url}/spdx/plumb-{version}-{machine}-{content[:32]}"
    return whole


if __name__ == "__main__":
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    print(json.dumps(document(*sys.argv[1:]), indent=1))
