"""Makes the PDFs beside it, with writers that people use: fpdf2, reportlab, Chromium. Run it again only to change them."""

import datetime
import pathlib
import subprocess
import tempfile

from fpdf import FPDF
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Table

HERE = pathlib.Path(__file__).parent
DEJAVU = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"


def new(font="Helvetica", path=None):
    pdf = FPDF()
    pdf.set_creation_date(datetime.datetime(2024, 3, 12, tzinfo=datetime.timezone.utc))
    if path:
        pdf.add_font(font, "", path)
    pdf.add_page()
    pdf.set_font(font, "", 11)
    return pdf


def lines(pdf, *texts):
    for text in texts:
        pdf.cell(0, 6, text, new_x="LMARGIN", new_y="NEXT")


def invoice():
    pdf = new()
    pdf.set_title("Invoice 2024-0117")
    pdf.set_author("Northwind Instruments Ltd")
    pdf.set_font("Helvetica", "B", 20)
    lines(pdf, "Invoice")
    pdf.set_font("Helvetica", "", 11)
    pdf.ln(6)
    lines(pdf, "Northwind Instruments Ltd", "14 Harbour Road, Bristol BS1 4RN")
    pdf.ln(6)
    lines(pdf, "Invoice No: 2024-0117", "Date: 12 March 2024", "Due: 11 April 2024", "Customer: Contoso Research GmbH")
    pdf.ln(6)
    with pdf.table() as table:
        for cells in [
            ("Item", "Quantity", "Unit price", "Amount"),
            ("Pressure sensor PS-40", "12", "£48.00", "£576.00"),
            ("Calibration certificate", "12", "£15.50", "£186.00"),
            ("Courier", "1", "", "£24.90"),
        ]:
            row = table.row()
            for cell in cells:
                row.cell(cell)
    pdf.ln(6)
    lines(pdf, "Subtotal: £786.90", "VAT (20%): £157.38", "Total due: £944.28")
    pdf.ln(6)
    lines(pdf, "Please pay within 30 days. Late payments bear interest of 8% a year.")
    pdf.output(HERE / "invoice.pdf")


def joined():
    """A small invoice whose lines stand so close that they are read as one paragraph. Written by hand: no writer sets two
    labels into one line."""
    texts = [
        "Invoice No: 4711   Date: 19 November 2026",
        "Customer: Harbour Bridge Ltd, Berlin",
        "Tea, 3 boxes at 12.50 EUR: 37.50 EUR",
        "Delivery: 4.90 EUR",
    ]
    shown = " 0 -16 Td ".join(f"({text}) Tj" for text in texts)
    apart = "1 0 0 1 72 560 Tm (Reference: TB-2026-11) Tj"
    content = f"BT /F1 11 Tf 72 720 Td {shown} {apart} ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    text, places = "%PDF-1.4\n", []
    for number, value in enumerate(objects, 1):
        places.append(len(text))
        text += f"{number} 0 obj\n{value}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    begin = len(text)
    text += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    text += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{begin}\n%%EOF\n"
    (HERE / "joined.pdf").write_text(text)


def letter():
    pdf = new("DejaVu", DEJAVU)
    lines(pdf, "Stadtwerke Köln GmbH", "Parkgürtel 24", "50823 Köln")
    pdf.ln(8)
    pdf.multi_cell(
        0,
        7,
        "Sehr geehrte Frau Müller,\n\nvielen Dank für Ihre Bestellung vom 3. März 2024. Die Lieferung kostet 1.234,50 € und "
        "erfolgt am 18.03.2024 zwischen 8 und 12 Uhr. Bitte halten Sie die Bestellnummer bereit und prüfen Sie die Ware "
        "sofort nach der Übergabe auf Schäden.",
    )
    pdf.add_page()
    pdf.multi_cell(0, 7, "Bestellnummer: 88-1204\nMit freundlichen Grüßen\nJürgen Weiß")
    pdf.output(HERE / "letter.pdf")


def report():
    style = getSampleStyleSheet()
    said = "In 2023 the city used 12.4 million cubic metres of water, 3.1% less than in 2022. Losses in the network fell to 6.8%. "
    document = SimpleDocTemplate(
        str(HERE / "report.pdf"), pagesize=A4, title="Annual water report 2023", author="City of Aarhus", invariant=1
    )
    document.build(
        [
            Paragraph("Annual water report 2023", style["Title"]),
            Paragraph("Summary", style["Heading1"]),
            Paragraph(said * 3, style["Normal"]),
            Paragraph("Measurements", style["Heading2"]),
            Table([["Quarter", "Use (m3)", "Loss"], ["Q1", "3,100,000", "7.0%"], ["Q2", "3,050,000", "6.9%"]]),
            PageBreak(),
            Paragraph("Outlook", style["Heading1"]),
            Paragraph("The council will spend €4.5 million on pipes by 31 December 2025.", style["Normal"]),
        ]
    )


def printed():
    page = """<!doctype html><style>td, th { padding: 4px 12px; text-align: left }</style><title>Quarterly results</title><h1>Quarterly results</h1>
    <p>Revenue rose <b>12%</b> to $3.2 million in Q2 2023, an efficient “first” quarter for the office.</p><h2>Regions</h2>
    <table><tr><th>Region<th>Revenue<tr><td>Europe<td>$1.9 million<tr><td>Asia<td>$1.3 million</table>
    <ul><li>Margins improved<li>Costs were flat</ul><p>Привет, мир"""
    with tempfile.NamedTemporaryFile("w", suffix=".html") as file:
        file.write(page)
        file.flush()
        quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
        subprocess.run(["chromium", *quiet, f"--print-to-pdf={HERE / 'printed.pdf'}", file.name], check=True)


def hostile():
    pdf = new()
    lines(pdf, "This needs a password.")
    pdf.set_encryption(owner_password="owner", user_password="user")
    pdf.output(HERE / "encrypted.pdf")
    pdf = new()
    lines(pdf, "The annual meeting was held on 4 June 2021 and 12 members came to it.")
    pdf.set_encryption(owner_password="owner", user_password="")
    pdf.output(HERE / "restricted.pdf")
    pdf = new()
    pdf.rect(10, 10, 50, 50, style="F")
    pdf.output(HERE / "scanned.pdf")


invoice()
joined()
letter()
report()
printed()
hostile()
