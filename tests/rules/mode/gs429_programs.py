def bad_by_functions_into_a_history() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def matches(logits: torch.Tensor, labels: torch.Tensor) -> float:
        return torch.eq(logits.argmax(dim=-1), labels).sum().item()

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    corpus = TensorDataset(x, (x[:, 0] > 0).long())
    loader = DataLoader(corpus, batch_size=16, shuffle=True)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    history = []
    size = len(corpus)
    for _ in range(2):
        for _step, (rows, wanted) in enumerate(loader):
            logits = model(rows)
            opt.zero_grad()
            nn.functional.cross_entropy(logits, wanted).backward()
            opt.step()
            hits = matches(logits, wanted)  # effect: GS429
            accuracy = 100.0 * hits / size  # cause: GS429
            history.append(accuracy)
        print(f"accuracy {history[-1]:.1f}%, best {max(history):.1f}%")


def good_parts_in_a_list() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    corpus = TensorDataset(x, (x[:, 0] > 0).long())
    loader = DataLoader(corpus, batch_size=16, shuffle=True)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    size = len(corpus)
    for _ in range(2):
        parts = []
        for rows, wanted in loader:
            logits = model(rows)
            opt.zero_grad()
            nn.functional.cross_entropy(logits, wanted).backward()
            opt.step()
            hits = (logits.argmax(1) == wanted).sum().item()
            share = hits * 100 / size
            parts.append(share)
        print(f"accuracy {sum(parts):.1f}%")


def good_the_name_is_that_of_the_batch() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    corpus = TensorDataset(x, (x[:, 0] > 0).long())
    size = len(corpus)
    print(size)
    loader = DataLoader(corpus, batch_size=16)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for rows, wanted in loader:
        size = len(rows)
        logits = model(rows)
        opt.zero_grad()
        nn.functional.cross_entropy(logits, wanted).backward()
        opt.step()
        hits = (logits.argmax(1) == wanted).sum().item()
        print(100 * hits / size)


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


def bad_behind_the_loop() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(96, 4)
    y = (x[:, :1] > 0).float()
    loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for rows, wanted in loader:
            said = model(rows)
            opt.zero_grad()
            nn.functional.binary_cross_entropy(said, wanted).backward()
            opt.step()
        said = said.round()
        hits = (said == wanted).sum()  # effect: GS429
        print(f"{100 * hits / x.size(0):.1f}%")  # cause: GS429


def good_the_last_batch_by_its_size() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(96, 4)
    y = (x[:, :1] > 0).float()
    loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for rows, wanted in loader:
            said = model(rows)
            opt.zero_grad()
            nn.functional.binary_cross_entropy(said, wanted).backward()
            opt.step()
        hits = (said.round() == wanted).sum()
        print(f"{100 * hits / rows.size(0):.1f}%")
        with torch.no_grad():
            right = (model(x).round() == y).sum()
        print(right / x.size(0))


def good_all_of_it_by_the_same_names() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(96, 4)
    y = (x[:, :1] > 0).float()
    loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for rows, wanted in loader:
            said = model(rows)
            opt.zero_grad()
            nn.functional.binary_cross_entropy(said, wanted).backward()
            opt.step()
        with torch.no_grad():
            print(said.mean())
        rows, wanted = x, y
        said = model(rows).detach()
        hits = (said.round() == wanted).sum()
        print(hits / len(x))
