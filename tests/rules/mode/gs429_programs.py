def good_added_up() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        correct = 0
        for a, b in loader:
            out = model(a)
            opt.zero_grad()
            nn.functional.cross_entropy(out, b).backward()
            opt.step()
            correct = correct + int((out.argmax(1) == b).sum().item())
            print(correct / len(loader.dataset))  # type: ignore[arg-type]


def good_share_added_up() -> None:
    """Each batch's part of the whole accuracy."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        accuracy = 0.0
        for a, b in loader:
            out = model(a)
            opt.zero_grad()
            nn.functional.cross_entropy(out, b).backward()
            opt.step()
            correct = (out.argmax(1) == b).sum().item()
            accuracy += correct / len(loader.dataset)  # type: ignore[arg-type]
        print(accuracy)
