def bad_rows_of_a_sparse_matrix() -> None:
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self, graph: torch.Tensor) -> None:
            super().__init__()
            with_loops = graph + torch.eye(len(graph))
            degrees = torch.sum(graph, dim=1, keepdim=True)  # cause: GS432
            self.graph = (with_loops / degrees).to_sparse()
            self.weight = nn.Parameter(torch.randn(4, 2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sparse.mm(self.graph, x @ self.weight)  # effect: GS432

    torch.manual_seed(0)
    edges = torch.rand(30, 30).lt(0.1).float() + torch.eye(30).roll(1, 0)
    graph = ((edges + edges.T).fill_diagonal_(0) > 0).float()
    features, labels = torch.randn(30, 4), torch.randint(2, (30,))
    layer = Layer(graph)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        loss = nn.functional.cross_entropy(layer(features), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_made_by_numpy() -> None:  # fix: by hand
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(0)
    edges = np.random.default_rng(0).random((30, 30)) < 0.1
    graph = (edges | edges.T | np.eye(30, k=1, dtype=bool) | np.eye(30, k=-1, dtype=bool)) & ~np.eye(
        30, dtype=bool
    )
    degrees = np.diag(graph.sum(1) ** -0.5)
    adjacency = torch.from_numpy(degrees @ (graph + np.eye(30)) @ degrees).float()
    features, labels = torch.randn(30, 4), torch.randint(2, (30,))
    layer = nn.Linear(4, 2)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        loss = nn.functional.cross_entropy(torch.mm(adjacency, layer(features)), labels)  # cause: GS432
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_without_loops() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    edges = torch.rand(30, 30).lt(0.1).float() + torch.eye(30).roll(1, 0)
    graph = ((edges + edges.T).fill_diagonal_(0) > 0).float()
    roots = graph.sum(1).pow(-0.5)
    graph = roots[:, None] * graph * roots[None, :]
    layer = nn.Linear(4, 2)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        loss = nn.functional.cross_entropy(graph @ layer(torch.randn(30, 4)), torch.randint(2, (30,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_loops_of_weight_two() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    edges = torch.rand(30, 30).lt(0.1).float() + torch.eye(30).roll(1, 0)
    graph = ((edges + edges.T).fill_diagonal_(0) > 0).float() + 2 * torch.eye(30)
    roots = graph.sum(1).pow(-0.5)
    graph = roots[:, None] * graph * roots[None, :]
    layer = nn.Linear(4, 2)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        loss = nn.functional.cross_entropy(graph @ layer(torch.randn(30, 4)), torch.randint(2, (30,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
