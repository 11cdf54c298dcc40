"""A complete Tidewater 2.0 worker that renders invoices.

Run it with:

    TIDEWATER_URL=dock://localhost:8640 TIDEWATER_TOKEN=twk_... python invoice_worker.py

It handles the queue shop/invoices, reports progress once a page and treats a
missing customer as a permanent failure, so that no attempts are wasted on it.
"""

import logging
from dataclasses import dataclass

from tidewater import PermanentError, Worker

log = logging.getLogger("invoice-worker")
worker = Worker.from_environment()

LINES_PER_PAGE = 42


@dataclass
class InvoiceLine:
    article: str
    quantity: int
    unit_price_cents: int

    @property
    def total_cents(self) -> int:
        return self.quantity * self.unit_price_cents


def split_into_pages(lines: list[InvoiceLine]) -> list[list[InvoiceLine]]:
    """Cut the lines of an invoice into printable pages; an empty invoice has one page."""
    pages = [lines[i : i + LINES_PER_PAGE] for i in range(0, len(lines), LINES_PER_PAGE)]
    return pages or [[]]


def render_page(number: int, lines: list[InvoiceLine]) -> str:
    """Render one page as text. The last line carries the subtotal."""
    rows = [f"{line.quantity:>5} x {line.article:<40} {line.total_cents / 100:>10.2f}" for line in lines]
    subtotal = sum(line.total_cents for line in lines) / 100
    rows.append(f"page {number} subtotal {subtotal:.2f}")
    return "\n".join(rows)


@worker.handle("shop/invoices", concurrency=8)
async def render_invoice(job):
    """Render the invoice of one order and keep it in the cargo store."""
    customer = job.payload.get("customer")
    if not customer:
        raise PermanentError("the order has no customer; it cannot be invoiced")

    pages = split_into_pages([InvoiceLine(**line) for line in job.payload["lines"]])
    rendered = []
    for number, lines in enumerate(pages, start=1):
        rendered.append(render_page(number, lines))
        await job.progress(number, len(pages))

    reference = await job.cargo.put("\f".join(rendered).encode(), content_type="text/plain")
    log.info("invoice rendered", extra={"job": job.id, "pages": len(pages)})
    return {"invoice": reference, "pages": len(pages)}


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    worker.run()
