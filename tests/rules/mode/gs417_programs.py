"""More programs of GS417: each bad one is reported at its marks, each good one by no rule."""


def bad_by_a_name_for_the_length() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    torch.manual_seed(0)
    loader = DataLoader(torch.randn(32, 4), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        batches = len(loader)
        running = 0.0
        for x in loader:
            loss = nn.functional.mse_loss(model(x), x[:, :1])
            opt.zero_grad()
            loss.backward()
            opt.step()
            running = running + loss.item()  # effect: GS417
            running = running / batches  # cause: GS417
        print(running)


def bad_added_and_divided_in_one_statement() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = (x.sum(1) > 0).long()
    sets = {
        "fit": DataLoader(TensorDataset(x[:32], y[:32]), batch_size=8, shuffle=True),
        "dev": DataLoader(TensorDataset(x[32:], y[32:]), batch_size=8),
    }
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)

    def measure() -> float:
        n = len(sets["dev"])
        accuracy = 0.0
        with torch.no_grad():
            for _, (a, b) in enumerate(sets["dev"]):
                right = net(a).argmax(-1).eq(b).float().mean()
                accuracy = (accuracy + right.item()) / n  # cause: GS417
        return accuracy

    for _ in range(2):
        for a, b in sets["fit"]:
            opt.zero_grad()
            nn.functional.cross_entropy(net(a), b).backward()
            opt.step()
        print(measure())


def bad_divided_in_place() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    batches = list(zip(x.split(8), x.sum(1, keepdim=True).split(8), strict=True))
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        total = torch.zeros(())
        for a, b in batches:
            loss = nn.functional.mse_loss(net(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.detach()  # effect: GS417
            total.div_(len(batches))  # cause: GS417
        print(total.item())


def good_running_mean_and_shares() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    batches = list(zip(x.split(8), x.sum(1, keepdim=True).split(8), strict=True))
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        mean, recent = 0.0, 0.0
        for i, (a, b) in enumerate(batches):
            loss = nn.functional.mse_loss(net(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            mean = mean + loss.item() / len(batches)
            recent = (recent * i + loss.item()) / (i + 1)
        print(mean, recent)
