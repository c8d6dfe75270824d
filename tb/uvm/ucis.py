"""Functional coverage in the UCIS interchange format, which coverage tools can read.

Reference: Accellera, Unified Coverage Interoperability Standard 1.0, chapter 9 (XML).
"""

import getpass
from collections.abc import Mapping
from datetime import UTC, datetime
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

__all__ = ["Bins", "as_ucis", "from_ucis"]

Bins = Mapping[str, Mapping[str, int]]
"""Number of hits of each bin, by coverage point and bin."""

_PLACE = {"file": "1", "line": "1", "inlineCount": "1"}
"""Placeholder position: UCIS requires a source line, but bins have none."""

_KEY = {"key": "0"}


def as_ucis(suites: Mapping[str, Bins], seed: int) -> bytes:
    """Return a UCIS document in which each suite is an instance.

    Parameters
    ----------
    suites : mapping of str to Bins
        The hits of each run, by the run's name.
    seed : int
        The seed of all runs.
    """
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"
    common = {"ucisVersion": "1.0"}
    root = Element("UCIS", {"writtenBy": getpass.getuser(), "writtenTime": now, **common})
    SubElement(root, "sourceFiles", {"fileName": "tb", "id": "1"})
    SubElement(
        root,
        "historyNodes",
        {
            "historyNodeId": "0",
            "logicalName": "make sim",
            "kind": "test",
            "date": now,
            "testStatus": "true",
            "seed": str(seed),
            "toolCategory": "simulator",
            **common,
            "vendorId": "QStep",
            "vendorTool": "tb.run_sim",
            "vendorToolVersion": "1",
        },
    )
    for number, (name, bins) in enumerate(suites.items()):
        instance = SubElement(
            root, "instanceCoverages", {"name": name, "instanceId": str(number), **_KEY}
        )
        SubElement(instance, "id", _PLACE)
        group = SubElement(SubElement(instance, "covergroupCoverage"), "cgInstance")
        group.attrib.update({"name": name, **_KEY})
        SubElement(group, "options")
        place = SubElement(group, "cgId", {"cgName": name, "moduleName": name})
        SubElement(place, "cginstSourceId", _PLACE)
        SubElement(place, "cgSourceId", _PLACE)
        for point, counts in bins.items():
            _add_point(group, point, counts)
    ElementTree.indent(root, " ")
    return bytes(ElementTree.tostring(root, "utf-8", xml_declaration=True))


def _add_point(group: Element, name: str, counts: Mapping[str, int]) -> None:
    point = SubElement(group, "coverpoint", {"name": name, **_KEY})
    SubElement(point, "options")
    for number, (which, count) in enumerate(counts.items()):
        one = SubElement(point, "coverpointBin", {"name": which, "type": "bins", **_KEY})
        values = SubElement(one, "range", {"from": str(number), "to": str(number)})
        SubElement(values, "contents", {"coverageCount": str(count)})


def from_ucis(document: bytes) -> dict[str, dict[str, dict[str, int]]]:
    """Return the suites in a document written by :func:`as_ucis`."""
    return {
        instance.attrib["name"]: {
            point.attrib["name"]: {
                one.attrib["name"]: int(contents.attrib["coverageCount"])
                for one in point.iter("coverpointBin")
                for contents in one.iterfind("range/contents")
            }
            for point in instance.iter("coverpoint")
        }
        for instance in ElementTree.fromstring(document).iter("instanceCoverages")
    }
