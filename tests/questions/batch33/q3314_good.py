import torch
from torch import nn

torch.manual_seed(0)

VOCAB, LENGTH, ANSWERS = 30, 8, 6


class QuestionEncoder(nn.Module):
    def __init__(self, emb, hidden):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, emb)
        self.rnn = nn.LSTM(input_size=emb, hidden_size=hidden, num_layers=1, batch_first=True)

    def forward(self, question):
        x = self.embedding(question)
        output, _ = self.rnn(x)
        return output[:, -1]


class VQA(nn.Module):
    def __init__(self):
        super().__init__()
        self.question = QuestionEncoder(16, 32)
        self.visual = nn.Linear(12, 32)
        self.classif = nn.Linear(32, ANSWERS)

    def forward(self, img, question):
        q = self.question(question)
        v = torch.tanh(self.visual(img))
        return self.classif(q * v)


RULE = torch.randint(0, ANSWERS, (VOCAB,))


def batch(n):
    question = torch.randint(0, VOCAB, (n, LENGTH))
    img = torch.randn(n, 12)
    sign = (img[:, 0] > 0).long()
    answer = (RULE[question[:, -2]] + 2 * sign) % ANSWERS
    return img, question, answer


def main():
    model = VQA()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(350):
        img, question, answer = batch(32)
        loss = nn.functional.cross_entropy(model(img, question), answer)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 100 == 0:
            print(step, f"loss {loss.item():.3f}")
    model.eval()
    with torch.no_grad():
        right = 0
        for _ in range(20):
            img, question, answer = batch(32)
            right += (model(img, question).argmax(1) == answer).sum().item()
    print(f"loss {loss.item():.3f} accuracy {right / 640:.3f}")


main()
