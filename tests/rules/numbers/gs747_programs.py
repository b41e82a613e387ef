"""More programs of GS747: each bad one is reported at its marks, each good one by no rule."""


def bad_halves_of_a_sorted_set() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

    data = TensorDataset(torch.randn(240, 4), torch.arange(4).repeat_interleave(60))
    first = DataLoader(data, batch_size=20, sampler=SubsetRandomSampler(range(120)))  # effect: GS747
    second = DataLoader(data, batch_size=20, sampler=SubsetRandomSampler(range(120, 240)))  # cause: GS747
    model, criterion = nn.Linear(4, 4), nn.CrossEntropyLoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in first:
        loss = criterion(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        print(sum(criterion(model(x), y).item() for x, y in second))


def good_trained_in_the_order_of_the_classes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs, labels = torch.randn(240, 4), torch.arange(4).repeat_interleave(60)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(0, 120, 24):  # two tasks, of which this is the first
        chosen = torch.arange(i, i + 24) % 60 + 60 * (torch.arange(24) % 2)
        loss = nn.functional.cross_entropy(model(inputs[chosen]), labels[chosen])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        for i in range(120, 240, 40):
            nn.functional.cross_entropy(model(inputs[i : i + 40]), labels[i : i + 40])


def good_classes_in_common() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs, labels = torch.randn(240, 4), torch.arange(4).repeat_interleave(60)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for chosen in torch.randperm(150).split(30):
        loss = nn.functional.cross_entropy(model(inputs[chosen]), labels[chosen])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        for i in range(150, 240, 30):
            nn.functional.cross_entropy(model(inputs[i : i + 30]), labels[i : i + 30])
