"""Price lists, each in the form in which its maker gives it, cut down to what tells the cases apart."""

from __future__ import annotations

import json
from typing import Any

OWN = """\
prices:
  - {provider: AWS, shape: c7i.large, region: eu-central-1, amount: 0.1019, fetched_at: 2026-11-02}
  - {provider: aws, shape: c7i.large, region: eu-central-1, market: spot, amount: 0.04, fetched_at: 2026-11-02}
  - {provider: gcp, shape: n2-standard-4, amount: 140, per: month, currency: eur}
machines:
  desk: {price: 2400 EUR, lifetime: 4y, use: 50%, watts: 200, kilowatt_hour: 0.30}
"""

LIBCLOUD = {
    "updated": 1740936978,
    "storage": {},
    "compute": {
        "ec2_linux": {"c7i.large": {"us-east-1": 0.08925, "eu-west-1": 0.0}},
        "azure_linux": {"d2sv5": {"eastus": 0.096}, "lowpriorityd2sv5": {"eastus": 0.0192}},
        "ec2_windows": {"c7i.large": {"us-east-1": 0.18}},
        "gce_instances": {
            "n2": {
                "cpu": {"description": "core", "on_demand": {"us-central1": {"price": 0.031611, "sku": "1"}}},
                "ram": {"description": "ram", "on_demand": {"us-central1": {"price": 0.004237, "sku": "2"}}},
            },
            "f1": {"cpu": {"on_demand": {"us-central1": {"price": 0.0076, "sku": "3"}}}},
        },
    },
}


def _offer(unit: str, amount: str, **term: str) -> dict[str, Any]:
    return {"t": {"priceDimensions": {"d": {"unit": unit, "pricePerUnit": {"USD": amount}}}, "termAttributes": term}}


def _attributes(**more: str) -> dict[str, str]:
    return {
        "instanceType": "c7i.large",
        "regionCode": "us-east-1",
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        **more,
    }


YEAR = {"LeaseContractLength": "1yr", "PurchaseOption": "No Upfront", "OfferingClass": "standard"}
AWS = {
    "formatVersion": "v1.0",
    "publicationDate": "2026-10-30T12:00:00Z",
    "products": {
        "A": {"attributes": _attributes()},
        "B": {"attributes": _attributes(operatingSystem="Windows")},
        "C": {"attributes": {"servicecode": "AmazonEC2"}},
    },
    "terms": {
        "OnDemand": {"A": _offer("Hrs", "0.0892500000"), "B": _offer("Hrs", "0.18"), "C": _offer("GB", "1")},
        "Reserved": {
            "A": {
                "x": _offer("Hrs", "0.059", **YEAR)["t"],
                "y": _offer("Hrs", "0.01", **(YEAR | {"PurchaseOption": "Partial Upfront"}))["t"],
                "z": _offer("Quantity", "500", **YEAR)["t"],
            }
        },
    },
}
GET_PRODUCTS = {
    "PriceList": [
        json.dumps(
            {
                "product": {"attributes": _attributes(), "sku": "A"},
                "terms": {"OnDemand": _offer("Hrs", "0.08925")},
                "publicationDate": "2026-10-30T12:00:00Z",
            }
        )
    ]
}
AWS_TABLE = """\
"FormatVersion","v1.0"
"Disclaimer","informational"
"Publication Date","2026-10-30T12:00:00Z"
"Version","20261030"
"OfferCode","AmazonEC2"
"SKU","TermType","Unit","PricePerUnit","Currency","LeaseContractLength","PurchaseOption",\
"OfferingClass","Instance Type","Tenancy","Operating System","Pre Installed S/W","CapacityStatus","Region Code"
"A","OnDemand","Hrs","0.08925","USD","","","","c7i.large","Shared","Linux","NA","Used","us-east-1"
"A","Reserved","Hrs","0.041","USD","3yr","No Upfront","standard","c7i.large","Shared","Linux","NA","Used","us-east-1"
"B","OnDemand","Hrs","0.7","USD","","","","c7i.large","Dedicated","Linux","NA","Used","us-east-1"
"""


def _item(**more: Any) -> dict[str, Any]:
    return {
        "currencyCode": "USD",
        "retailPrice": 0.096,
        "armRegionName": "eastus",
        "armSkuName": "Standard_D2s_v5",
        "productName": "Virtual Machines Dsv5 Series",
        "skuName": "D2s v5",
        "serviceName": "Virtual Machines",
        "unitOfMeasure": "1 Hour",
        "type": "Consumption",
        **more,
    }


AZURE = {
    "BillingCurrency": "USD",
    "Items": [
        _item(),
        _item(skuName="D2s v5 Spot", retailPrice=0.0192),
        _item(type="Reservation", reservationTerm="3 Years", retailPrice=946.08),
        _item(productName="Virtual Machines Dsv5 Series Windows", retailPrice=0.188),
        _item(serviceName="Storage"),
    ],
}


def _sku(description: str, usage: str, nanos: int) -> dict[str, Any]:
    money = {"currencyCode": "USD", "units": "0", "nanos": nanos}
    return {
        "description": description,
        "category": {"usageType": usage},
        "serviceRegions": ["us-central1"],
        "pricingInfo": [
            {"effectiveTime": "2026-11-01T00:00:00Z", "pricingExpression": {"tieredRates": [{"unitPrice": money}]}}
        ],
    }


GOOGLE = {
    "skus": [
        _sku("N2 Instance Core running in Americas", "OnDemand", 31611000),
        _sku("N2 Instance Ram running in Americas", "OnDemand", 4237000),
        _sku("N2 Custom Instance Core running in Americas", "OnDemand", 99000000),
        _sku("Spot Preemptible N2 Instance Core running in Americas", "Preemptible", 7000000),
        _sku("Network Egress", "OnDemand", 1),
    ]
}


def _part(name: str, amount: float) -> dict[str, Any]:
    told = {"currencyCode": "USD", "prices": [{"model": "PAY_AS_YOU_GO", "value": amount}]}
    return {"partNumber": "B1", "displayName": name, "currencyCodeLocalizations": [told]}


ORACLE = {
    "items": [
        _part("Compute - Standard - E5 - OCPU", 0.03),
        _part("Compute - Standard - E5 - Memory", 0.002),
        _part("Compute - Standard - A1 - OCPU", 0.01),
    ]
}
SKYPILOT = """\
InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,AvailabilityZone
c7i.large,,,2,4,,0.08925,0.031,us-east-1,us-east-1a
c7i.large,,,2,4,,0.08925,0.029,us-east-1,us-east-1b
x1.old,,,2,4,,,,us-east-1,us-east-1b
,A100,1,,,,1.5,,us-east-1,
"""
GPUHUNT = """\
instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size
g6.xlarge,us-east-1,0.8048,4,16,1,L4,24,False,
g6.xlarge,us-east-1,0.31,4,16,1,L4,24,True,
"""
