"""More programs of GS103: each bad one is reported at its marks, each good one by no rule."""


def bad_storage() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    memory = b.detach().untyped_storage()
    memory.copy_(torch.zeros(3).untyped_storage())  # cause: GS103
    loss.backward()  # effect: GS103


def bad_given_to_numpy() -> None:
    import numpy as np
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    array = np.asarray(b.detach())
    np.subtract(array, array.mean(), out=array)  # cause: GS103
    loss.backward()  # effect: GS103


def bad_dlpack() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    torch.utils.dlpack.from_dlpack(b.detach()).zero_()  # cause: GS103
    loss.backward()  # effect: GS103


def bad_given_to_a_function_at_once() -> None:
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(0)

    def blank(values: np.ndarray) -> None:
        values[:, ::2] = 0.0  # cause: GS103

    first, second = nn.Linear(3, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    for _ in range(2):
        h = torch.tanh(first(torch.randn(8, 3)))
        blank(values=h.detach().numpy())
        opt.zero_grad()
        second(h).pow(2).mean().backward()  # effect: GS103
        opt.step()


def good_storage_read() -> None:
    import numpy as np
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    assert b.untyped_storage().data_ptr() == b.detach().untyped_storage().data_ptr()
    assert np.asarray(b.detach()).max() == np.from_dlpack(b.detach()).max()
    memory = b.detach().untyped_storage()
    loss.backward()
    memory.copy_(torch.zeros(3).untyped_storage())


def bad_in_another_function() -> None:
    import numpy as np
    import torch

    def shared(t: torch.Tensor) -> np.ndarray:
        array = t.detach().numpy()
        return array.reshape(-1)

    def clear(values: np.ndarray, start: int) -> None:
        rest = values[start:]
        rest *= 0  # cause: GS103

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    numbers = shared(b)
    print(numbers.max())
    clear(numbers, start=0)
    loss.backward()  # effect: GS103


def bad_in_a_library() -> None:
    import struct

    import torch

    a = torch.tensor([7.0, 1.0, 2.0, 3.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    array = b.detach().numpy()
    assert len(array) == 4
    struct.pack_into("f", array.data, 0, 1.5)  # cause: GS103
    loss.backward()  # effect: GS103


def bad_from_numpy() -> None:
    import numpy as np
    import torch

    weight = torch.ones(3, requires_grad=True)
    buffer = np.zeros(3, dtype=np.float32)
    for step in range(3):
        buffer[:] = step + 1
        x = torch.from_numpy(buffer)
        loss = (weight * x).sum()
        buffer.fill(0)  # cause: GS103
        loss.backward()  # effect: GS103
        weight.grad = None


def bad_batch_filled_again() -> None:
    import numpy as np
    import torch

    class Batches:
        def __init__(self) -> None:
            self.array = np.zeros((8, 3), dtype=np.float32)
            self.view = torch.from_numpy(self.array)

        def fill(self, step: int) -> torch.Tensor:
            self.array[:] = step + np.arange(3)  # cause: GS103
            return self.view

    layer, batches = torch.nn.Linear(3, 1), Batches()
    opt = torch.optim.SGD(layer.parameters(), lr=0.001)
    batch = batches.fill(0)
    for step in range(3):
        loss = layer(batch).mean()
        batch = batches.fill(step + 1)
        opt.zero_grad()
        loss.backward()  # effect: GS103
        opt.step()


def good_batch_filled_after_its_step() -> None:
    import numpy as np
    import torch

    array = np.zeros((8, 3), dtype=np.float32)
    batch = torch.from_numpy(array)
    layer = torch.nn.Linear(3, 1)
    opt = torch.optim.SGD(layer.parameters(), lr=0.001)
    for step in range(3):
        array[:] = step + np.arange(3)
        opt.zero_grad()
        layer(batch).mean().backward()
        opt.step()


def good_read_only() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    largest = float(b.detach().numpy().max())
    assert largest == 9.0
    loss.backward()


def good_written_after_backward() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    array = b.detach().numpy()
    torch.mean(b * b).backward()
    array[:] = 0


def bad_window_that_moves_on_before_its_pass() -> None:
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(1)

    class Window:
        def __init__(self, width: int, channels: int) -> None:
            self.store = np.zeros((width, channels), dtype=np.float32)
            self.tensor = torch.from_numpy(self.store)

        def push(self, reading: np.ndarray) -> None:
            self.store[:-1] = self.store[1:]  # cause: GS103
            self.store[-1] = reading

    window = Window(4, 2)
    forecaster = nn.Linear(8, 2)
    opt = torch.optim.SGD(forecaster.parameters(), lr=1e-2, momentum=0.9)
    for t in range(20):
        reading = np.sin(np.array([0.2 * t, 0.3 * t])).astype(np.float32)
        forecast = forecaster(window.tensor.view(1, -1))
        err = (forecast - torch.tensor(reading)).pow(2).mean()
        window.push(reading)
        opt.zero_grad()
        err.backward()  # effect: GS103
        opt.step()


def good_window_that_moves_on_after_its_pass() -> None:
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(1)
    store = np.zeros((4, 2), dtype=np.float32)
    window, forecaster = torch.from_numpy(store), nn.Linear(8, 2)
    opt = torch.optim.SGD(forecaster.parameters(), lr=1e-2, momentum=0.9)
    for t in range(20):
        reading = np.sin(np.array([0.2 * t, 0.3 * t])).astype(np.float32)
        err = (forecaster(window.view(1, -1)) - torch.tensor(reading)).pow(2).mean()
        opt.zero_grad()
        err.backward()
        opt.step()
        store[:-1] = store[1:]
        store[-1] = reading
