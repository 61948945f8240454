//! A page that can be written as Markdown and as HTML.

use std::fmt::Write;

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// What stands above it.
    pub title: String,
    /// All below that.
    pub blocks: Vec<Block>,
}

/// A piece of a page.
#[derive(Clone, Debug)]
pub enum Block {
    /// The title of what follows.
    Heading(String),
    /// The title of a part of that.
    Part(String),
    /// A paragraph.
    Text(String),
    /// Short lines.
    List(Vec<String>),
    /// Rows below a head.
    Table(Vec<&'static str>, Vec<Vec<String>>),
    /// An SVG of this name.
    Picture(String, String),
}

use Block::{Heading, List, Part, Picture, Table, Text};

impl Document {
    /// As Markdown, with its pictures beside it in the folder `plots`.
    pub fn markdown(&self) -> String {
        let mut page = format!("# {}\n", plain(&self.title));
        for block in &self.blocks {
            page.push('\n');
            match block {
                Heading(title) => page += &format!("## {}\n", plain(title)),
                Part(title) => page += &format!("### {}\n", plain(title)),
                Text(text) => page += &format!("{}\n", plain(text)),
                List(lines) => {
                    lines.iter().for_each(|line| page += &format!("- {}\n", plain(line)));
                }
                Table(head, rows) => {
                    let _ =
                        writeln!(page, "| {} |\n|{}", head.join(" | "), "---|".repeat(head.len()));
                    for row in rows {
                        let cells: Vec<String> = row.iter().map(|cell| plain(cell)).collect();
                        let _ = writeln!(page, "| {} |", cells.join(" | "));
                    }
                }
                Picture(name, _) => page += &format!("![{}](plots/{name}.svg)\n", plain(name)),
            }
        }
        page
    }

    /// As one file of HTML, with nothing that is elsewhere and no script.
    pub fn html(&self) -> String {
        let title = escape(&self.title);
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<style>\n{}</style>\n<h1>{title}</h1>\n",
            include_str!("page.css")
        );
        for block in &self.blocks {
            match block {
                Heading(title) => page += &format!("<h2>{}</h2>\n", escape(title)),
                Part(title) => page += &format!("<h3>{}</h3>\n", escape(title)),
                Text(text) => page += &format!("<p>{}</p>\n", escape(text)),
                List(lines) => {
                    let items: String =
                        lines.iter().map(|line| format!("<li>{}</li>\n", escape(line))).collect();
                    page += &format!("<ul>\n{items}</ul>\n");
                }
                Table(head, rows) => table(head, rows, &mut page),
                Picture(name, svg) => {
                    page += &format!("<figure id=\"{}\">{svg}</figure>\n", escape(name));
                }
            }
        }
        page + "</html>\n"
    }

    /// The pictures with their names.
    pub fn pictures(&self) -> impl Iterator<Item = (&str, &str)> {
        self.blocks.iter().filter_map(|block| match block {
            Picture(name, svg) => Some((name.as_str(), svg.as_str())),
            _ => None,
        })
    }
}

fn table(head: &[&str], rows: &[Vec<String>], page: &mut String) {
    let head: String = head.iter().map(|cell| format!("<th>{}</th>", escape(cell))).collect();
    let _ = writeln!(page, "<div class=\"wide\"><table>\n<tr>{head}</tr>");
    for row in rows {
        let cell = |cell: &String| match cell.as_str() {
            "FAIL" => "<td class=\"fail\">FAIL</td>".to_owned(),
            "pass" => "<td class=\"pass\">pass</td>".to_owned(),
            cell => format!("<td>{}</td>", escape(cell)),
        };
        let _ = writeln!(page, "<tr>{}</tr>", row.iter().map(cell).collect::<String>());
    }
    page.push_str("</table></div>\n");
}

/// Text inside HTML.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            other => safe.push(other),
        }
    }
    safe
}

/// Text inside Markdown: on one line, no tags, no cells of its own.
fn plain(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace('<', "&lt;").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::{Block, Document};

    fn document(cell: &str) -> Document {
        let table = Block::Table(vec!["a", "b"], vec![vec![cell.into(), "FAIL".into()]]);
        Document { title: "T".into(), blocks: vec![table] }
    }

    #[test]
    fn what_stands_in_a_cell_stays_in_it() {
        let page = document("x | <script>\ny").markdown();
        assert!(page.contains("| x \\| &lt;script> y | FAIL |\n"), "{page}");
        let page = document("<script>").html();
        assert!(page.contains("<td>&lt;script&gt;</td><td class=\"fail\">FAIL</td>"), "{page}");
    }

    #[test]
    fn pictures_are_in_the_page_and_beside_the_text() {
        let picture = Block::Picture("read".into(), "<svg/>".into());
        let page = Document { title: "T".into(), blocks: vec![picture] };
        assert!(page.html().contains("<figure id=\"read\"><svg/></figure>"));
        assert!(page.markdown().contains("![read](plots/read.svg)"));
        assert_eq!(page.pictures().collect::<Vec<_>>(), [("read", "<svg/>")]);
    }
}
