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


def bad_list_of_edges() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4, 2))

        def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
            own = torch.arange(len(x))
            source, goal = torch.cat([edges[0], own]), torch.cat([edges[1], own])
            root = torch.bincount(edges[1], minlength=len(x)).float().rsqrt()  # cause: GS432
            share = root[source] * root[goal]  # effect: GS432
            message = share.unsqueeze(-1) * (x @ self.weight)[source]
            return torch.zeros(len(x), 2).index_add(0, goal, message)

    torch.manual_seed(0)
    ring = torch.arange(30)
    edges = torch.stack([ring, (ring + 1) % 30])
    edges = torch.cat([edges, torch.tensor([[3, 7, 9], [12, 21, 2]])], 1)
    edges = torch.cat([edges, edges.flip(0)], 1)
    features, labels = torch.randn(30, 4), torch.randint(2, (30,))
    layer = Layer()
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        loss = nn.functional.cross_entropy(layer(features, edges), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_list_of_edges() -> None:
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4, 2))

        def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
            own = torch.arange(len(x))
            source, goal = torch.cat([edges[0], own]), torch.cat([edges[1], own])
            root = torch.bincount(goal, minlength=len(x)).float().rsqrt()
            share = root[source] * root[goal]
            message = share.unsqueeze(-1) * (x @ self.weight)[source]
            return torch.zeros(len(x), 2).index_add(0, goal, message)

    torch.manual_seed(0)
    ring = torch.arange(30)
    edges = torch.stack([ring, (ring + 1) % 30])
    edges = torch.cat([edges, torch.tensor([[3, 7, 9], [12, 21, 2]])], 1)
    edges = torch.cat([edges, edges.flip(0)], 1)
    features, labels = torch.randn(30, 4), torch.randint(2, (30,))
    layer = Layer()
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        loss = nn.functional.cross_entropy(layer(features, edges), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
