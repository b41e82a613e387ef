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


def bad_a_validation_under_no_grad() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(3, 1)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    batches = [(torch.randn(8, 3), torch.randn(8, 1)) for _ in range(4)]
    for _ in range(3):
        for feats, price in batches:
            opt.zero_grad()
            F.mse_loss(net(feats), price).backward()
            opt.step()
        net.eval()
        err = 0.0
        with torch.no_grad():
            for feats, price in batches:
                err = F.mse_loss(net(feats), price)
                err += float(err)  # cause: GS770
        print(err / len(batches))
        net.train()


def bad_times_the_size_of_the_batch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = 0.0
        for _ in range(4):
            x, y = torch.randn(8, 3), torch.randint(2, (8,))
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            loss = loss + loss.detach() * len(x)  # cause: GS770
        print(loss / 32)


def good_each_loss_over_its_own_size() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        total = torch.zeros(())
        for _ in range(4):
            x = torch.randn(8, 3)
            loss = nn.functional.cross_entropy(model(x), torch.randint(2, (8,)))
            size = model.weight.pow(2).sum()
            both = loss / loss.detach() + size / float(size)
            opt.zero_grad()
            both.backward()
            opt.step()
            total += float(loss) * len(x)
        print(total / 32)
