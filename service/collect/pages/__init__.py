"""Serve the HTML pages, one blueprint each: voters, organisers, images and sounds of items, and the bare address."""

from flask import Blueprint

from service.collect.pages.frame import assets, bare, organiser
from service.collect.pages.voter import voter

PAGES: tuple[Blueprint, ...] = (voter, organiser, assets, bare)
