import json

import pytest

DATA = "x\n0\n1\n2\n3\n4\n5\n"


@pytest.fixture
def check(linkwise):
    def run(pairs, *options, code=0, data=DATA):
        linkwise.write("data.csv", data)
        linkwise.write("pairs.csv", "i,j,kind\n" + pairs)
        result = linkwise("check", "data.csv", "pairs.csv", *options)
        assert result.exit_code == code, result.output
        return json.loads(result.stdout) if "--json" in options else result.stdout

    return run


def test_pairs_and_what_follows_from_them_are_counted(check):
    report = check("0,1,ML\n1,2,ML\n2,3,CL\n", "--json")
    assert (report["rows"], report["features"]) == (6, 1)
    assert (report["must_links"], report["cannot_links"]) == (2, 1)
    assert report["entailed_must_links"] == report["entailed_cannot_links"] == 3
    assert report["components"] == 4 and report["component_sizes"] == [3]
    assert report["single_rows"] == 3 and report["conflicts"] == 0
    assert report["feasible_clusters"] == {
        "smallest": 2,
        "largest": 4,
        "smallest_is_proven": True,
    }
    assert report["warnings"] == []


def test_clean_pairs_read_well(check):
    text = check("0,1,ML\n1,2,ML\n2,3,CL\n", "--clusters", 3)
    assert "3 (2 must-link, 1 cannot-link); 3 more follow" in text
    assert "1 group of must-linked rows (largest: 3), 3 singles" in text
    assert "3: feasible" in text and "2 to 4 clusters" in text


def test_contradictions_are_shown_with_line_and_path(check):
    text = check("0,1,ML\n1,2,ML\n2,0,CL\n", code=4)
    assert "line 4: cannot-link 0, 2 contradicts must-links 0 - 1 - 2" in text
    assert "--on-conflict drop" in text and "1 pair" in text


def test_only_the_first_twenty_contradictions_are_shown(check):
    n = 30
    data = "x\n" + "\n".join(map(str, range(n))) + "\n"
    chain = "".join(f"{row},{row + 1},ML\n" for row in range(n - 1))
    apart = "".join(f"{row},{row + 2},CL\n" for row in range(n - 2))
    text = check(chain + apart, code=4, data=data)
    assert text.count("contradicts") == 20 and "and 8 more" in text
    report = check(chain + apart, "--json", code=4, data=data)
    assert report["conflicts"] == 28 and len(report["first_conflicts"]) == 20
    assert report["first_conflicts"][0] == {
        "line": 31,
        "cannot_link": ["0", "2"],
        "must_link_path": ["0", "1", "2"],
    }


def test_too_few_clusters_are_told_from_enough(check):
    triangle = "0,1,CL\n1,2,CL\n0,2,CL\n"
    text = check(triangle, "--clusters", 2, code=4)
    assert "2: infeasible" in text and "3 to 6 clusters" in text
    report = check(triangle, "--clusters", 3, "--json")
    assert report["feasibility"] == "feasible"


def test_too_many_clusters_are_infeasible(check):
    assert "infeasible" in check("0,1,ML\n", "--clusters", 6, code=4)


def test_a_file_without_pairs_is_clean(check):
    report = check("", "--json")
    assert report["must_links"] == 0 and report["components"] == 6


def test_bad_data_are_refused_as_by_cluster(check):
    check("0,1,ML\n", code=3, data="x\n1\n\n?\n")
    check("0,1,ML\n", "--drop-column", "name", data="x,name\n1,a\n2,b\n")


def test_an_infeasible_number_is_explained_by_ids(linkwise):
    linkwise.write("d.csv", "name,a\n" + "".join(f"row{i},{i % 5}\n" for i in range(9)))
    linkwise.write("p.csv", "i,j,kind\nrow1,row2,CL\nrow2,row3,CL\nrow1,row3,CL\n")
    arguments = ("d.csv", "p.csv", "-k", 2, "--id-column", "name")
    checked = linkwise("check", *arguments)
    assert checked.exit_code == 4 and "'row1', 'row2', 'row3'" in checked.stdout
    clustered = linkwise(
        *("cluster", "d.csv", "-c", "p.csv", "-k", 2, "--id-column", "name"),
        *("-o", "out.csv", "--final-step", "hard", "--candidates", 5),
    )
    assert clustered.exit_code == 4 and "'row1', 'row2', 'row3'" in clustered.stderr
