"""More programs of GS755: each bad one is reported at its marks, each good one by no rule."""


def bad_criterion_made_in_the_loss() -> None:
    import torch
    from torch import nn

    def distilled(scores, labels, taught, temperature=4.0):
        soft = nn.KLDivLoss()(  # cause: GS755
            torch.log_softmax(scores / temperature, dim=1), torch.softmax(taught / temperature, dim=1)
        )
        return soft * (0.5 * temperature**2) + 0.5 * nn.functional.cross_entropy(scores, labels)

    student, teacher = nn.Linear(4, 12), nn.Linear(4, 12)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(8, 4), torch.randint(12, (8,))
        with torch.no_grad():
            taught = teacher(x)
        loss = distilled(student(x), y, taught)
        opt.zero_grad()
        loss.backward()  # effect: GS755
        opt.step()


def bad_criterion_made_before() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 12)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    near = nn.KLDivLoss(reduction="mean")
    for _ in range(3):
        x, y = torch.randn(8, 4), torch.softmax(torch.randn(8, 12), 1)
        out = model(x)
        loss = near(out.log_softmax(1), y) + 0.1 * out.pow(2).mean()  # cause: GS755
        opt.zero_grad()
        loss.backward()  # effect: GS755
        opt.step()


def bad_weight_that_was_set_for_the_mean() -> None:  # fix: by hand
    import torch
    from torch import nn

    student, teacher = nn.Linear(4, 12), nn.Linear(4, 12)
    opt = torch.optim.SGD(student.parameters(), lr=0.01)
    for _ in range(3):
        x, y = torch.randn(8, 4), torch.randint(12, (8,))
        scores, taught = student(x), teacher(x).detach()
        logged, wanted = torch.log_softmax(scores / 20, 1), torch.softmax(taught / 20, 1)
        soft = nn.functional.kl_div(logged, wanted)  # cause: GS755
        loss = soft * (20 * 20 * 1.4) + 0.3 * nn.functional.cross_entropy(scores, y)
        opt.zero_grad()
        loss.backward()  # effect: GS755
        opt.step()


def bad_sequences_of_distributions() -> None:  # fix: by hand
    import torch
    from torch import nn

    student, teacher = nn.Linear(4, 12), nn.Linear(4, 12)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 5, 4)
        scores, taught = student(x), teacher(x).detach()
        soft = nn.functional.kl_div(scores.log_softmax(2), taught.softmax(2))  # cause: GS755
        loss = soft + 0.1 * scores.pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS755
        opt.step()


def good_summed_and_divided_by_the_samples() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 12)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    near = nn.KLDivLoss(reduction="sum")
    for _ in range(3):
        x, y = torch.randn(8, 4), torch.softmax(torch.randn(8, 12), 1)
        out = model(x)
        loss = near(out.log_softmax(1), y) / len(x) + 0.1 * out.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_weights_that_are_no_distributions() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 12)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, weights = torch.randn(8, 4), torch.rand(8, 12) * torch.linspace(0, 3, 8)[:, None]
        out = model(x)
        loss = nn.functional.kl_div(nn.functional.logsigmoid(out), weights) + 0.1 * out.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
