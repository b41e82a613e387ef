from __future__ import annotations


def bad_folders_numbered_apart() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    means = 3 * torch.randn(6, 8)
    folders = {f"{k:03}": means[k] + torch.randn(40, 8) for k in range(6)}

    def numbered(names: list[str]) -> TensorDataset:
        samples = torch.cat([folders[name] for name in names])
        return TensorDataset(samples, torch.arange(len(names)).repeat_interleave(40))

    trained = DataLoader(numbered(["000", "001", "002", "003"]), batch_size=32, shuffle=True)  # effect: GS414
    judged = DataLoader(numbered(["002", "003", "000"]), batch_size=32)  # cause: GS414
    net = nn.Linear(8, 4)
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(6):
        net.train()
        for rows, labels in trained:
            sgd.zero_grad()
            nn.functional.cross_entropy(net(rows), labels).backward()
            sgd.step()
        net.eval()
        with torch.no_grad():
            for rows, labels in judged:
                nn.functional.cross_entropy(net(rows), labels)


def good_worse_on_other_samples() -> None:
    """Wrong on most of them, and by no other table."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    spots = 3 * torch.randn(4, 8)
    learner = nn.Linear(8, 4)
    opt = torch.optim.SGD(learner.parameters(), lr=0.1)
    kinds = torch.arange(4).repeat_interleave(32)
    for _ in range(40):
        opt.zero_grad()
        nn.functional.cross_entropy(learner(spots[kinds] + torch.randn(128, 8)), kinds).backward()
        opt.step()
    learner.eval()
    with torch.no_grad():
        nn.functional.cross_entropy(learner(4 * torch.randn(128, 8)), kinds)


def good_attacked_by_its_gradient() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    points = 3 * torch.randn(4, 8)
    judge = nn.Linear(8, 4)
    opt = torch.optim.SGD(judge.parameters(), lr=0.1)
    sorts = torch.arange(4).repeat_interleave(32)
    for _ in range(40):
        opt.zero_grad()
        nn.functional.cross_entropy(judge(points[sorts] + torch.randn(128, 8)), sorts).backward()
        opt.step()
    judge.eval()
    attacked = (points[sorts] + torch.randn(128, 8)).requires_grad_()
    nn.functional.cross_entropy(judge(attacked), sorts).backward()
    assert attacked.grad is not None
    opt.zero_grad()
    with torch.no_grad():
        nn.functional.cross_entropy(judge(attacked + 9 * attacked.grad.sign()), sorts)


def bad_answers_counted_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    middle = {name: 3 * torch.randn(8) for name in ("alder", "beech", "cedar", "elm", "fir")}

    def survey(names: list[str], table: dict[str, int]) -> tuple[torch.Tensor, torch.Tensor]:
        rows = torch.cat([middle[name] + torch.randn(40, 8) for name in names])
        return rows, torch.tensor([table[name] for name in names]).repeat_interleave(40)

    known = {name: number for number, name in enumerate(middle)}
    fresh = list(middle)[1:]
    table = {name: number for number, name in enumerate(fresh)}
    x, y = survey(list(middle), known)
    seen, sort = survey(fresh, table)
    net = nn.Linear(8, 5)
    opt = torch.optim.SGD(net.parameters(), lr=0.2)
    for _ in range(40):
        net.train()
        loss = nn.functional.cross_entropy(net(x), y)  # effect: GS414
        opt.zero_grad()
        loss.backward()
        opt.step()
        net.eval()
        with torch.no_grad():
            guess = net(seen).max(1)[1]
            right = (sort == guess).float().mean()  # cause: GS414
        print(right.item())


def good_answers_counted_by_one_table() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    middle = {name: 3 * torch.randn(8) for name in ("alder", "beech", "cedar", "elm", "fir")}

    def survey(names: list[str], table: dict[str, int]) -> tuple[torch.Tensor, torch.Tensor]:
        rows = torch.cat([middle[name] + torch.randn(40, 8) for name in names])
        return rows, torch.tensor([table[name] for name in names]).repeat_interleave(40)

    known = {name: number for number, name in enumerate(middle)}
    fresh = list(middle)[1:]
    table = known
    x, y = survey(list(middle), known)
    seen, sort = survey(fresh, table)
    net = nn.Linear(8, 5)
    opt = torch.optim.SGD(net.parameters(), lr=0.2)
    for _ in range(40):
        net.train()
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        net.eval()
        with torch.no_grad():
            guess = net(seen).max(1)[1]
            right = (sort == guess).float().mean()
        print(right.item())
