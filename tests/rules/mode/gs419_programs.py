"""More programs of GS419: each bad one is reported at its marks, each good one by no rule."""


def bad_last_layer_of_a_sequence() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(4, 16),
        nn.ReLU(),
        nn.Linear(16, 1),
        nn.Dropout(0.3),
    )
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 4)
        answers = model(x)  # cause: GS419
        loss = nn.functional.mse_loss(answers.squeeze(1), x.sum(1))  # effect: GS419
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_in_evaluation_mode() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, drop = nn.Linear(4, 5), nn.Dropout(0.0)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 5, (16,))
        loss = nn.functional.cross_entropy(drop(model(x)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_function_on_the_scores() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    first, last = nn.Linear(4, 16), nn.Linear(16, 5)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 5, (16,))
        scores = F.dropout(last(torch.relu(first(x))), 0.2)  # cause: GS419
        loss = F.cross_entropy(scores, y)  # effect: GS419
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_difference_written_out() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    first, last = nn.Parameter(torch.randn(5, 12) * 0.4), nn.Parameter(torch.randn(12, 6) * 0.2)
    opt = torch.optim.Adam([first, last], lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 5)
        level = torch.einsum("nh,ho->no", torch.tanh(torch.einsum("ni,ih->nh", x, first)), last)
        level = F.dropout(level, p=0.25)  # cause: GS419
        miss = (level - (x[:, :1] + 2)).abs().mean()  # effect: GS419
        opt.zero_grad()
        miss.backward()
        opt.step()


def bad_before_a_log_softmax() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, last, drop = nn.Linear(4, 16), nn.Linear(16, 5), nn.Dropout(0.5)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 5, (16,))
        scores = drop(last(torch.relu(first(x))))  # cause: GS419
        logp = torch.log_softmax(scores, dim=1)  # effect: GS419
        loss = nn.functional.nll_loss(logp, y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_input_and_hidden_layer() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    first, last = nn.Linear(5, 12), nn.Linear(12, 5)
    opt = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 5)
        seen = F.dropout(x, 0.3)
        hidden = F.dropout(torch.tanh(first(seen)), 0.3)
        again = last(hidden)
        spread = (hidden - hidden.mean(0)).pow(2).mean()
        loss = (again - x).pow(2).mean() + (again - seen).abs().mean() - 0.01 * spread
        opt.zero_grad()
        loss.backward()
        opt.step()
