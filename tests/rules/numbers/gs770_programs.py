"""More programs of GS770: each bad one is reported at its marks, each good one by no rule."""


def bad_in_an_evaluation() -> None:
    import torch
    from torch import nn

    def evaluate(model: nn.Module, batches: list[tuple[torch.Tensor, torch.Tensor]]) -> float:
        loss = torch.zeros(())
        for x, y in batches:
            with torch.no_grad():
                loss = nn.functional.cross_entropy(model(x), y)
                loss += loss.item()  # cause: GS770
        return float(loss) / len(batches)

    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = [(torch.randn(8, 3), torch.randint(2, (8,))) for _ in range(4)]
    for _ in range(3):
        for x, y in batches:
            opt.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            opt.step()
        print(evaluate(model, batches))


def good_other_number() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(torch.randn(8, 3)), torch.randint(2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            decay = model.weight.pow(2).sum()
            loss = loss + 0.01 * decay.item()
        print(loss)
