# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Usage: spdx.py FILE [FOLDER]

What is wrong with FILE by the rules of SPDX 2.3 (members that it must have, forms, identifiers, licences, relationships), and
with FOLDER, whose files it describes. Nothing, if all is well.
"""
import collections
import hashlib
import json
import os
import re
import sys

MEMBERS = {
    "document": {"spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo", "packages", "relationships"},
    "package": {"SPDXID", "name", "downloadLocation", "versionInfo", "licenseConcluded", "licenseDeclared", "copyrightText", "filesAnalyzed"},
    "file": {"SPDXID", "fileName", "checksums", "licenseConcluded", "copyrightText"},
}
RELATIONSHIPS = {"DESCRIBES", "CONTAINS", "STATIC_LINK"}
LENGTHS = {"SHA1": 40, "SHA256": 64}
LICENCES = set("""0BSD BSD-2-Clause BSD-3-Clause GPL-2.0-only GPL-2.0-or-later GPL-3.0-or-later LGPL-2.0-or-later LGPL-2.1-only
	LGPL-2.1-or-later LGPL-3.0-or-later MIT Zlib bzip2-1.0.6""".split())
EXCEPTIONS = {"GCC-exception-2.0", "GCC-exception-2.0-note", "GCC-exception-3.1"}


def licence(text, extracted):
    """A licence expression: what of it is none. Words and operators take turns."""
    if text in ("NOASSERTION", "NONE"):
        return
    depth, wanted = 0, "licence"
    for word in re.findall(r"[()]|[^\s()]+", text):
        if word == "(" and wanted == "licence":
            depth += 1
        elif word == ")" and wanted == "operator" and depth:
            depth -= 1
        elif wanted == "operator" and word in ("AND", "OR", "WITH"):
            wanted = "exception" if word == "WITH" else "licence"
        elif wanted == "exception" and word in EXCEPTIONS or wanted == "licence" and (word in LICENCES or word in extracted):
            wanted = "operator"
        else:
            yield f"{word} in {text}"
            return
    if depth or wanted != "operator":
        yield text


def of_document(document):
    yield from (f"document: no {name}" for name in sorted(MEMBERS["document"] - document.keys()))
    if document["spdxVersion"] != "SPDX-2.3" or document["dataLicense"] != "CC0-1.0" or document["SPDXID"] != "SPDXRef-DOCUMENT":
        yield "document: head"
    if not re.fullmatch(r"https?://[^\s#]+", document["documentNamespace"]):
        yield f"namespace: {document['documentNamespace']}"
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["creationInfo"]["created"]):
        yield f"created: {document['creationInfo']['created']}"
    creators = document["creationInfo"]["creators"]
    if not creators or not all(re.fullmatch(r"(Tool|Organization|Person): \S.*", creator) for creator in creators):
        yield f"creators: {creators}"


def of_elements(document):
    extracted = {each["licenseId"] for each in document.get("hasExtractedLicensingInfos", []) if each["extractedText"]}
    yield from (f"extracted: {name}" for name in extracted if not re.fullmatch(r"LicenseRef-[A-Za-z0-9.-]+", name))
    for kind in ("package", "file"):
        for element in document[kind + "s"]:
            name = element.get("name", element.get("fileName"))
            yield from (f"{name}: no {member}" for member in sorted(MEMBERS[kind] - element.keys()))
            for member in ("licenseConcluded", "licenseDeclared"):
                yield from (f"{name}: no licence: {what}" for what in licence(element.get(member, "NONE"), extracted))
            for sum_ in element.get("checksums", []):
                if not re.fullmatch(f"[0-9a-f]{{{LENGTHS[sum_['algorithm']]}}}", sum_["checksumValue"]):
                    yield f"{name}: {sum_}"
            if kind == "file" and "SHA1" not in (sum_["algorithm"] for sum_ in element["checksums"]):
                yield f"{name}: no SHA1"
            for reference in element.get("externalRefs", []):
                if reference["referenceType"] != "purl" or not re.fullmatch(r"pkg:(deb|rpm)/[a-z]+/[^\s@]+@[^\s@]+", reference["referenceLocator"]):
                    yield f"{name}: {reference}"


def of_relationships(document):
    elements = [document, *document["packages"], *document["files"]]
    identifiers = collections.Counter(element["SPDXID"] for element in elements)
    yield from (f"twice: {name}" for name, count in identifiers.items() if count > 1)
    yield from (f"identifier: {name}" for name in identifiers if not re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name))
    reached = {"SPDXRef-DOCUMENT"}
    for each in document["relationships"]:
        one, how, other = each["spdxElementId"], each["relationshipType"], each["relatedSpdxElement"]
        yield from (f"{how}: no element {name}" for name in (one, other) if name not in identifiers)
        if how not in RELATIONSHIPS:
            yield f"relationship {how}"
        if one in reached:
            reached.add(other)
    yield from (f"nothing leads to {name}" for name in sorted(identifiers.keys() - reached))


def of_files(document, folder):
    """The sums, and the package's code of them: of all files but those that it excludes, and of no others."""
    code = document["packages"][0]["packageVerificationCode"]
    found = {"./" + os.path.relpath(os.path.join(path, name), folder) for path, _, names in os.walk(folder) for name in names
             if not os.path.islink(os.path.join(path, name))} - set(code["packageVerificationCodeExcludedFiles"])
    named = {file["fileName"]: file for file in document["files"]}
    yield from (f"in one only: {name}" for name in sorted(found ^ named.keys()))
    for name in found & named.keys():
        with open(os.path.join(folder, name), "rb") as file:
            content = file.read()
        for sum_ in named[name]["checksums"]:
            if hashlib.new(sum_["algorithm"], content).hexdigest() != sum_["checksumValue"]:
                yield f"{name}: {sum_['algorithm']}"
    sums = sorted(sum_["checksumValue"] for file in document["files"] for sum_ in file["checksums"] if sum_["algorithm"] == "SHA1")
    if hashlib.sha1("".join(sums).encode()).hexdigest() != code["packageVerificationCodeValue"]:
        yield "the package's verification code"


def main(path, folder=None):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    wrong = [*of_document(document), *of_elements(document), *of_relationships(document), *(of_files(document, folder) if folder else ())]
    print("\n".join(wrong), end="\n" if wrong else "")


main(*sys.argv[1:])
