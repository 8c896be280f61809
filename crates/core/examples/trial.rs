use tenure_core::check::check;
use tenure_core::lifecycle::shipped;
fn main() {
    let t = shipped::tables();
    for table in t.iter() {
        let s = std::time::Instant::now();
        let r = check(table, &t);
        println!("{:14} states {:6} steps {:8} {:?}", table.kind.as_str(), r.states, r.steps, s.elapsed());
        for f in r.findings {
            println!("   {}: {}", f.line, f.what);
            for l in f.trace {
                println!("       {l}");
            }
        }
    }
}
