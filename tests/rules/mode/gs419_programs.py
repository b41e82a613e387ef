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
