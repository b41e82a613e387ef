"""More programs of GS740: each bad one is reported at its marks, each good one by no rule."""


def bad_classes_seen_so_far() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    model, old = nn.Linear(4, 6), nn.Linear(4, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = [0, 2, 5]
    for _ in range(3):
        x = torch.randn(8, 4)
        with torch.no_grad():
            before = old(x)
        out = model(x)
        q = F.softmax(before / 2, dim=-1)[:, seen]  # effect: GS740
        log_p = F.log_softmax(out / 2, dim=-1)[:, seen]  # cause: GS740
        loss = F.cross_entropy(out, torch.randint(0, 6, (8,))) + F.kl_div(log_p, q, reduction="batchmean")
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_narrowed_tokens() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    student, teacher = nn.Linear(4, 6), nn.Linear(4, 6)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    criterion = nn.KLDivLoss(reduction="batchmean", log_target=True)
    for _ in range(3):
        x = torch.randn(8, 5, 4)
        with torch.no_grad():
            given = teacher(x).log_softmax(-1).narrow(2, 0, 4)  # effect: GS740
        logs = student(x).log_softmax(-1).narrow(2, 0, 4)  # cause: GS740
        loss = criterion(logs.reshape(-1, 4), given.reshape(-1, 4))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_method_in_a_function() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    student, teacher = nn.Linear(4, 6), nn.Linear(4, 6)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)

    def distil(out: torch.Tensor, goal: torch.Tensor, k: int) -> torch.Tensor:
        logs = out.log_softmax(dim=1)[:, :k]  # cause: GS740
        return nn.functional.kl_div(logs, goal.softmax(dim=1)[:, :k], reduction="sum")  # effect: GS740

    for _ in range(3):
        x = torch.randn(8, 4)
        loss = distil(student(x), teacher(x).detach(), 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_target_of_its_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    student, teacher = nn.Linear(4, 6), nn.Linear(4, 3)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        with torch.no_grad():
            given = torch.softmax(teacher(x), dim=1)
        logs = torch.log_softmax(student(x), dim=1)[:, :3]
        loss = nn.functional.kl_div(logs, given, reduction="batchmean")
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_parts_that_make_up_the_whole() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    student, teacher = nn.Linear(4, 6), nn.Linear(4, 6)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        with torch.no_grad():
            given = torch.softmax(teacher(x), dim=1)
        logs = torch.log_softmax(student(x), dim=1)
        old = nn.functional.kl_div(logs[:, :3], given[:, :3], reduction="batchmean")
        new = nn.functional.kl_div(logs[:, 3:], given[:, 3:], reduction="batchmean")
        opt.zero_grad()
        (old + new).backward()
        opt.step()


def good_some_of_the_tokens() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    student, teacher = nn.Linear(4, 6), nn.Linear(4, 6)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 5, 4)
        mask = torch.rand(8, 5) < 0.8
        with torch.no_grad():
            given = torch.softmax(teacher(x), dim=-1)
        logs = torch.log_softmax(student(x), dim=-1)
        loss = nn.functional.kl_div(logs[:, :-1], given[:, :-1], reduction="batchmean")
        loss = loss + nn.functional.kl_div(logs[mask], given[mask], reduction="batchmean")
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_padding_of_the_vocabulary_left_out() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    student, teacher = nn.Linear(4, 8), nn.Linear(4, 8)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    with torch.no_grad():
        for model in (student, teacher):
            model.bias[6:] = -10.0
    for _ in range(3):
        x = torch.randn(8, 4)
        with torch.no_grad():
            given = torch.softmax(teacher(x), dim=-1)[:, :6]
        logs = torch.log_softmax(student(x), dim=-1)[:, :6]
        loss = nn.functional.kl_div(logs, given, reduction="batchmean")
        opt.zero_grad()
        loss.backward()
        opt.step()
